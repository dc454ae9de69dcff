"""Shares of a cluster against what fairness means."""

from hypothesis import given
from hypothesis import strategies as st

from bhpt.executors.fair_share import WorkerClaim, fair_shares


def test_equal_claims_get_equal_shares() -> None:
    claims = [WorkerClaim(8, {"CPU": 1}), WorkerClaim(8, {"CPU": 1})]
    assert fair_shares({"CPU": 6}, claims) == [3, 3]


def test_what_one_leaves_is_for_the_others() -> None:
    claims = [WorkerClaim(1, {"CPU": 1}), WorkerClaim(9, {"CPU": 1}), WorkerClaim(9, {"CPU": 1})]
    assert fair_shares({"CPU": 9}, claims) == [1, 4, 4]


def test_the_example_of_the_paper() -> None:
    claims = [WorkerClaim(99, {"CPU": 1, "memory": 4}), WorkerClaim(99, {"CPU": 3, "memory": 1})]
    assert fair_shares({"CPU": 9, "memory": 18}, claims) == [3, 2]


def test_who_had_least_is_first_where_there_is_too_little() -> None:
    claims = [WorkerClaim(1, {"CPU": 1}, used=5.0), WorkerClaim(1, {"CPU": 1}, used=1.0)]
    assert fair_shares({"CPU": 1}, claims) == [0, 1]


def test_nobody_gets_what_the_cluster_does_not_have() -> None:
    claims = [WorkerClaim(3, {"CPU": 1, "GPU": 1}), WorkerClaim(3, {"CPU": 1})]
    assert fair_shares({"CPU": 4}, claims) == [0, 3]


@given(
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=5),
)
def test_shares_fit_and_nobody_envies(cores: int, wants: list[tuple[int, int]]) -> None:
    claims = [WorkerClaim(most, {"CPU": float(each)}) for most, each in wants]
    given_ = fair_shares({"CPU": float(cores)}, claims)
    takes = [count * each for count, (_, each) in zip(given_, wants, strict=True)]
    assert sum(takes) <= cores
    left = cores - sum(takes)
    for (most, each), count, taken in zip(wants, given_, takes, strict=True):
        assert count <= most
        if count < most:  # it wanted more: there was no room, and nobody has one more than it
            assert left < each or not cores
            biggest = max(each_ for _, each_ in wants)
            assert max(takes) <= taken + each + biggest
