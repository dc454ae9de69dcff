"""What names say of an arm is worked out once, whichever arms are added or asked about."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.learned.arm_opinions import SOME, ReaderScores, at_first, expected, names_tell
from bhpt.beliefs.learned.name_opinions import scores
from bhpt.beliefs.learned.name_readers import NameReaders
from bhpt.beliefs.learned.weights import shipped_policy
from bhpt.domain import Curves, FloatArray, Memory, View
from bhpt.spaces import encode_tokens, infer_ranges


def tokens_of(count: int) -> FloatArray:
    rng = np.random.default_rng(0)
    configs = [
        {"learning_rate": 10 ** rng.uniform(-5, 0), "momentum": rng.uniform(0, 1)}
        for _ in range(count)
    ]
    return encode_tokens(configs, infer_ranges(configs))


def view_of(tokens: FloatArray, first: int, memory: Memory) -> View:
    arms = len(tokens)
    features = np.linspace(0, 1, arms)[:, None]
    curves = Curves.empty(arms, 10)
    return View(
        curves, 1, 50.0, np.ones(arms), features, tokens=tokens, first_arms=first, memory=memory
    )


def test_scores_of_added_arms_are_those_of_all_at_once() -> None:
    tokens, trained = tokens_of(75), shipped_policy()
    kept = ReaderScores(trained, 20)
    for count in (20, 21, 30, 52, 75, 40):
        rows = np.random.default_rng(count).permutation(count)
        found = kept.of(tokens[:count], rows)
        np.testing.assert_allclose(found, scores(np, trained, tokens[rows]), atol=1e-5)
        alone = ReaderScores(trained, 20).of(tokens[:count], rows)
        np.testing.assert_array_equal(found, alone)  # to the last bit, whatever was asked before


def test_other_tokens_are_read_anew() -> None:
    tokens, trained = tokens_of(40), shipped_policy()
    kept = ReaderScores(trained, 20)
    kept.of(tokens, np.arange(40))
    other = tokens[::-1].copy()
    found = kept.of(other, np.arange(40))
    np.testing.assert_allclose(found, scores(np, trained, other), atol=1e-5)


@pytest.mark.parametrize("first", [30, 45])
def test_opinions_of_a_study_that_grows_need_no_memory(first: int) -> None:
    tokens, trained, memory = tokens_of(60), shipped_policy(), Memory()
    for count in range(first, 61, 5):
        view = view_of(tokens[:count], first, memory)
        rows = np.arange(0, count, 2)
        fresh = replace(view, memory=Memory())
        assert names_tell(view, trained)
        assert names_tell(fresh, trained)
        for said in (at_first, expected):
            np.testing.assert_array_equal(said(view, rows, trained), said(fresh, rows, trained))


def test_opinions_of_very_many_first_arms_need_no_memory() -> None:
    tokens, trained, memory = tokens_of(SOME + 45), shipped_policy(), Memory()
    view = view_of(tokens, len(tokens), memory)
    for rows in (
        np.arange(3, len(tokens), 40),
        np.arange(0, 500, 3),
        np.array([7, len(tokens) - 1]),
    ):
        fresh = replace(view, memory=Memory())
        np.testing.assert_array_equal(expected(view, rows, trained), expected(fresh, rows, trained))
        np.testing.assert_allclose(
            expected(view, rows, trained), at_first(view, rows, trained), atol=1e-5
        )


def test_very_many_first_arms_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, trained = tokens_of(SOME + 45), shipped_policy()
    view, read = view_of(tokens, len(tokens), Memory()), []

    reading = NameReaders.scores

    def counted(readers: NameReaders, some: FloatArray) -> FloatArray:
        read.append(len(some))
        return reading(readers, some)

    monkeypatch.setattr(NameReaders, "scores", counted)
    for end in (100, 101, 110):
        expected(view, np.arange(end), trained)
    assert sum(read) == 112  # in blocks of 16
