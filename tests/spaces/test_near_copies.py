import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import FloatArray
from bhpt.spaces import NEAR, Space
from bhpt.spaces.near_copies import apart, near_copies


def _furthest(one: FloatArray, other: FloatArray) -> float:
    return float(np.abs(one - other).max())


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.0, 0.03, 0.2]))
def test_what_stays_is_apart_and_what_goes_is_alike(seed: int, width: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    new, known = rng.random((12, width)), rng.random((6, width))
    kept = apart(new, known, least)
    there = [*known, *new[kept]]
    for place in kept:
        others = [one for one in there if one is not there[6 + kept.index(place)]]
        assert all(_furthest(new[place], one) >= least for one in others)
    for place in set(range(12)) - set(kept):
        earlier = [*known, *(new[one] for one in kept if one < place)]
        assert any(_furthest(new[place], one) < least for one in earlier)


def test_categories_are_never_alike() -> None:
    space = Space.of({"a": ["x", "y"], "b": (0.0, 1.0)})
    one, other = space.encode([{"a": "x", "b": 0.5}]), space.encode([{"a": "y", "b": 0.5}])
    assert near_copies(one, one).all()
    assert not near_copies(one, other).any()


def test_an_even_draw_holds_no_near_copies_and_known_ones_are_not_drawn_again() -> None:
    space = Space.of({"x": (0.0, 1.0), "n": (1, 3)})
    first = space.draw_apart(40, np.random.default_rng(0))
    second = space.draw_apart(40, np.random.default_rng(1), space.encode(first))
    features = space.encode([*first, *second])
    for place, one in enumerate(features):
        assert all(_furthest(one, other) >= NEAR for other in features[:place])
    assert len(first) >= 40


def test_a_finite_space_is_drawn_until_it_is_empty() -> None:
    space = Space.of({"n": (1, 3), "a": ["x", "y"]})
    drawn = space.draw_apart(100, np.random.default_rng(0))
    assert len(drawn) == space.size == 6
    assert space.draw_apart(100, np.random.default_rng(1), space.encode(drawn)) == []
