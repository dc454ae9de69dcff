"""What is known of arms, as a value: whichever of them is changed, none of the others is."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Saved
from bhpt.study.tried_arms import Arm, TriedArms
from bhpt.study.unit_times import COMMON, FirstUnit, Timings

_SAVED = st.integers(1, 9).map(lambda epochs: (Saved(1, epochs, "digest", 10),))
_ARM = st.builds(
    Arm,
    units=st.integers(0, 3),
    ready=st.integers(0, 9),
    saved=st.one_of(st.just(()), _SAVED),
    paces=st.lists(st.floats(-3, 3), max_size=16).map(tuple),
    failures=st.integers(0, 2),
    closed=st.sampled_from([None, None, "given up"]),
    first=st.sampled_from([None, FirstUnit(2.0, 1), FirstUnit(1.0, 3, new_worker=True)]),
)


def _check(tried: TriedArms, known: dict[int, Arm]) -> None:
    assert dict(tried) == known
    assert list(tried) == list(known)
    assert len(tried) == len(known)
    assert tried.get(99) is None
    columns = tried.columns
    assert columns.arms.tolist() == list(known)
    assert columns.ready.tolist() == [arm.ready for arm in known.values()]
    assert columns.held.tolist() == [
        arm.saved[-1].epochs if arm.saved else 0 for arm in known.values()
    ]
    assert columns.given_up.tolist() == [arm for arm, of in known.items() if of.closed is not None]
    assert tried.failing == sorted(
        arm for arm, of in known.items() if of.failures and of.closed is None
    )
    timed = Timings.of(
        {arm: of.paces for arm, of in known.items()},
        {arm: of.first for arm, of in known.items() if of.first is not None},
    )
    np.testing.assert_array_equal(tried.timings.first, timed.first)
    np.testing.assert_array_equal(tried.timings.arms, timed.arms)
    np.testing.assert_array_equal(tried.timings.middles, timed.middles)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.dictionaries(st.integers(0, 12), _ARM, max_size=3)),
        max_size=25,
    ),
    st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_any_interleaving_of_changes_equals_copying(
    steps: list[tuple[int, dict[int, Arm]]], often: bool
) -> None:
    made: list[tuple[TriedArms, dict[int, Arm]]] = [(TriedArms(), {})]
    for pick, changed in steps:
        tried, known = made[-1 - pick % len(made)]
        kept = {  # timings of an arm only ever come to be, as in a study
            arm: of if arm not in known or (of.paces and of.first) else known[arm]
            for arm, of in changed.items()
        }
        made.append((tried.with_arms(kept), {**known, **kept}))
        if often:
            _check(*made[-1])
    for tried, known in made:
        _check(tried, known)


def test_the_arms_that_reported_last_are_a_bounded_number() -> None:
    tried = TriedArms()
    for arm in range(COMMON + 10):
        tried = tried.with_arm(arm, Arm(units=1))
    tried = tried.with_arm(20, Arm(units=2)).with_arm(21, Arm(units=1, failures=1))
    assert tried.latest_arms.tolist() == [*range(10, 20), *range(21, COMMON + 10), 20]
