from hypothesis import given
from hypothesis import strategies as st

from bhpt.checkpoints import Checkpoint, plan_drops


def held(arm: int, generation: int = 1, size: int = 10) -> Checkpoint:
    return Checkpoint(arm, generation, generation, "0" * 64, size)


def test_nothing_is_dropped_under_the_cap() -> None:
    assert plan_drops([held(0), held(1)], {0: 0.1, 1: 0.9}, cap=20) == ()


def test_the_least_likely_goes_first_and_no_more_than_needed() -> None:
    checkpoints = [held(0), held(1), held(2)]
    likely = {0: 0.5, 1: 0.1, 2: 0.9}
    assert plan_drops(checkpoints, likely, cap=25) == (held(1),)
    assert plan_drops(checkpoints, likely, cap=10) == (held(1), held(0))


def test_older_generations_go_before_any_newest() -> None:
    checkpoints = [held(0), held(1, 4), held(1, 5)]
    assert plan_drops(checkpoints, {0: 0.0, 1: 1.0}, cap=20) == (held(1, 4),)


def test_the_best_arm_and_running_ones_are_never_touched() -> None:
    checkpoints = [held(0, 1), held(0, 2), held(1)]
    assert plan_drops(checkpoints, {0: 0.0, 1: 1.0}, cap=0, keep={0}) == (held(1),)


def test_an_arm_without_a_likelihood_is_hopeless() -> None:
    assert plan_drops([held(0), held(1)], {0: -5.0}, cap=10) == (held(1),)


sizes = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(1, 3)), st.integers(0, 50), max_size=12
)


@given(
    sizes,
    st.dictionaries(st.integers(0, 8), st.floats(0, 1)),
    st.integers(0, 300),
    st.sets(st.integers(0, 8)),
)
def test_what_is_left_fits_or_is_protected(
    made: dict[tuple[int, int], int], likely: dict[int, float], cap: int, keep: set[int]
) -> None:
    checkpoints = [held(arm, generation, size) for (arm, generation), size in made.items()]
    drops = plan_drops(checkpoints, likely, cap, keep)
    left = [one for one in checkpoints if one not in drops]
    assert not {one.arm for one in drops} & keep
    assert sum(one.bytes for one in left) <= cap or all(
        one.arm in keep or one.bytes == 0 for one in left
    )
    if drops:  # the last drop was needed
        assert sum(one.bytes for one in left) + drops[-1].bytes > cap
