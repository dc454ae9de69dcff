import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Misuse
from bhpt.spaces import encode_configs


def test_numbers_that_span_decades_are_compared_by_their_logarithm() -> None:
    encoded = encode_configs([{"lr": 1e-4}, {"lr": 1e-3}, {"lr": 1e-2}])
    assert encoded == pytest.approx(np.array([[0.0], [0.5], [1.0]]))


def test_numbers_within_a_small_factor_are_linear() -> None:
    encoded = encode_configs([{"n": 2}, {"n": 3}, {"n": 4}])
    assert encoded == pytest.approx(np.array([[0.0], [0.5], [1.0]]))


def test_momenta_near_one_are_compared_by_their_distance_from_one() -> None:
    encoded = encode_configs([{"m": 0.9}, {"m": 0.99}, {"m": 0.999}])
    assert encoded == pytest.approx(np.array([[0.0], [0.5], [1.0]]))
    assert np.isfinite(encode_configs([{"m": 1.0}, {"m": 0.99}])).all()


def test_categories_are_half_high_and_sorted() -> None:
    encoded = encode_configs([{"a": "tanh"}, {"a": "relu"}, {"a": "relu"}])
    assert encoded.tolist() == [[0.0, 0.5], [0.5, 0.0], [0.5, 0.0]]


def test_true_and_false_and_none_are_categories() -> None:
    assert encode_configs([{"a": True}, {"a": False}, {"a": None}]).shape == (3, 3)
    assert encode_configs([{"a": 1}, {"a": "1"}]).shape == (2, 2)


def test_a_missing_key_is_neutral_and_marked() -> None:
    encoded = encode_configs([{"a": 0.0, "m": 0.1}, {"a": 1.0}, {"a": 0.5, "m": 0.3}])
    assert encoded == pytest.approx(np.array([[0.0, 0.0, 0.5], [1.0, 0.5, 0.0], [0.5, 1.0, 0.5]]))


def test_keys_that_come_and_go_together_are_marked_once() -> None:
    assert encode_configs([{"a": 1, "b": 2}, {"a": 2, "b": 1}, {}]).shape == (3, 3)


def test_nothing_that_varies_gives_a_zero_column() -> None:
    assert encode_configs([{"a": 3, "b": "x"}] * 4).tolist() == [[0.0]] * 4
    assert encode_configs([{}]).tolist() == [[0.0]]


def test_names_take_no_column() -> None:
    named = [{"name": f"run {i}", "lr": float(i)} for i in range(100)]
    assert encode_configs(named).shape == (100, 1)


@pytest.mark.parametrize(
    "configs",
    [[], [3], [{"a": float("nan")}], [{"a": float("inf")}, {"a": 1.0}], [{"a": object()}]],
)
def test_bad_configurations_are_one_clear_line(configs: list[dict[str, object]]) -> None:
    with pytest.raises(Misuse) as caught:
        encode_configs(configs)
    assert "\n" not in str(caught.value)


_VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**60), 2**60),
    st.text("ab1", max_size=3),
    st.booleans(),
    st.none(),
    st.lists(st.integers(0, 3), max_size=2),
)


@settings(deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("abcd"), _VALUES, max_size=4), min_size=1, max_size=8)
)
def test_any_configurations_encode_to_finite_numbers_in_range(
    configs: list[dict[str, object]],
) -> None:
    encoded = encode_configs(configs)
    assert encoded.shape[0] == len(configs)
    assert encoded.shape[1] >= 1
    assert np.isfinite(encoded).all()
    assert encoded.min() >= 0
    assert encoded.max() <= 1
