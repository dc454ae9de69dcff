"""Tokens of hyper-parameters: what they say of names, values and ranges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import FloatArray
from bhpt.spaces import encode_tokens, infer_ranges
from bhpt.spaces.ranges import Choices, NumberRange
from bhpt.spaces.spelling import spelled
from bhpt.spaces.tokens import COLUMNS, NAME_HASH, TOKEN_NAMES, column, hashed_name

RATE = NumberRange(1e-4, 1.0, "log")


def said(configs: list[dict[str, object]], what: str, **ranges: NumberRange) -> FloatArray:
    """One column of the tokens, [K, N]."""
    spans = ranges or infer_ranges(configs)
    return np.asarray(encode_tokens(configs, spans)[:, :, column(what)])


@pytest.mark.parametrize(
    "name",
    ["learningRate", "learning-rate", "Learning_Rate", "optim.learning_rate", "a:b/learning rate",
     "model__learning_rate"],
)  # fmt: skip
def test_style_and_prefixes_of_a_name_do_not_matter(name: str) -> None:
    assert spelled(name) == "learning_rate"
    np.testing.assert_array_equal(hashed_name(name), hashed_name("learning_rate"))


def test_names_that_are_spelled_alike_are_close() -> None:
    close = hashed_name("learning_rate") @ hashed_name("learning_rate_init")
    far = hashed_name("learning_rate") @ hashed_name("max_depth")
    assert close > 0.6 > 0.2 + far
    assert np.linalg.norm(hashed_name("p1")) == pytest.approx(1.0)


def test_the_hash_of_a_name_never_changes() -> None:
    """Trained networks depend on it."""
    found = hashed_name("momentum")
    assert len(found) == NAME_HASH
    assert np.flatnonzero(found).tolist() == MOMENTUM


MOMENTUM = [9, 12, 21, 34, 37, 44]


def test_positions_are_on_the_scale_of_the_range() -> None:
    configs: list[dict[str, object]] = [{"lr": 1e-4}, {"lr": 1e-2}, {"lr": 1.0}]
    np.testing.assert_allclose(said(configs, "from_middle", lr=RATE)[:, 0], [-0.5, 0.0, 0.5])
    np.testing.assert_allclose(said(configs, "from_middle_squared", lr=RATE)[:, 0], [1, 0, 1])
    plain = said(configs, "from_middle", lr=NumberRange(0.0, 1.0))[:, 0]
    np.testing.assert_allclose(plain, [1e-4 - 0.5, 1e-2 - 0.5, 0.5])
    np.testing.assert_allclose(said(configs, "magnitude", lr=RATE)[:, 0], [-4 / 3, -2 / 3, 0])
    np.testing.assert_allclose(said(configs, "decades", lr=RATE), 4 / 5)


def test_what_a_configuration_lacks_is_zero() -> None:
    found = encode_tokens(
        [{"a": 0.5}, {"b": "x"}], {"a": NumberRange(0, 1), "b": Choices(("x", "y"))}
    )
    assert not found[0, 1].any()
    assert not found[1, 0].any()
    assert found[0, 0, column("number")] == 1
    assert found[1, 1, column("number")] == 0


def test_words_are_told_apart() -> None:
    found = encode_tokens(
        [{"b": "adam"}, {"b": "sgd"}, {"b": "Adam"}], {"b": Choices(("adam", "sgd", "Adam"))}
    )
    assert not np.array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**6), 10**6), st.text(),
    st.booleans(), st.none(),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=8), values, max_size=4), min_size=1, max_size=6))
def test_whatever_people_write_tokens_are_finite(configs: list[dict[str, object]]) -> None:
    ranges = infer_ranges(configs)
    found = encode_tokens(configs, ranges)
    assert (
        found.shape == (len(configs), len(ranges), COLUMNS) == (*found.shape[:2], len(TOKEN_NAMES))
    )
    assert np.isfinite(found).all()
    assert np.abs(found).max(initial=0) < 10
    whole = [encode_tokens([config], ranges)[0] for config in configs]  # a row is its own
    np.testing.assert_array_equal(found, np.stack(whole))
