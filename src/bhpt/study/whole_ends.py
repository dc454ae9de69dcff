"""The note that a range from 0 to 1 has two values alone, because its ends are whole numbers.

`(0, 1)` for a dropout or a momentum is read as whole numbers, and a study would try nothing in
between. Nothing is changed; one line says what to write.
"""

from bhpt.spaces.ranges import NumberRange
from bhpt.study.arm_list import ranges_of
from bhpt.study.plan import Plan


def note_of_whole_ends(plan: Plan) -> str | None:
    """One line if a hyper-parameter is a whole number from 0 to 1; None otherwise."""
    if plan.search.space is None:
        return None
    found = ranges_of(plan.search.space)
    names = [name for name, one in found.items() if one == NumberRange(0, 1, whole=True)]
    if not names:
        return None
    return (
        f"note: {', '.join(map(repr, names))}: from 0 to 1 in whole numbers is 0 or 1; write 0.0 "
        "and 1.0 for all between"
    )
