"""Which policy ends best from here."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pytest

from bhpt.domain import FloatArray, IntArray, Misuse, View
from bhpt.policies.registry import make_policy
from bhpt.reports import policy_comparison
from bhpt.reports.policy_comparison import PolicyComparison, PolicyOutcome, compared
from bhpt.study import MemoryLog, State, Study
from tests.reports.cases import loss_at, state_of

_NAMES = ("default", "asha", "sh", "random", "i-epoch")
_EPOCHS = 12
_RNG = np.random.default_rng(5)
_CONFIGS = [
    {"rate": float(10 ** _RNG.uniform(-2, 0)), "depth": int(_RNG.integers(1, 5))} for _ in range(20)
]


def _losses(config: dict[str, float], start: int, stop: int) -> list[float]:
    return [loss_at(config, epoch) for epoch in range(start + 1, stop + 1)]


def _begun(policy: str = "random", units: int = 14, log: MemoryLog | None = None) -> State:
    """A study of listed configurations after some units."""
    kept = MemoryLog() if log is None else log

    def keep(first: Sequence[object]) -> MemoryLog:
        kept.append(first, 0)  # type: ignore[arg-type]
        return kept

    study = Study(_CONFIGS, "50 epochs", max_epochs=_EPOCHS, policy=policy, keep=keep)
    return _go_on(study, units)


def _go_on(study: Study, units: int) -> State:
    for _ in range(units):
        unit = study.ask()
        if unit is None:
            break
        losses = _losses(unit.config, unit.done, unit.done + unit.epochs)
        study.tell(unit, losses, seconds=1.0)
    return study.state


class _Oracle:
    """A predictor that knows how every curve goes on."""

    def predict(self, _: View) -> Self:
        return self

    def paths(self, arms: IntArray, size: int, _: np.random.Generator) -> FloatArray:
        curves = [[2.0, *_losses(_CONFIGS[arm], 0, _EPOCHS)] for arm in arms.tolist()]
        return np.tile(np.array(curves), (size, 1, 1))


@pytest.fixture
def certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws are what will come, and gains count as they are."""
    monkeypatch.setattr(policy_comparison, "predictor_of", lambda _: _Oracle())
    monkeypatch.setattr(policy_comparison, "trust", lambda *_: 1.0)


@pytest.mark.usefixtures("certain")
def test_where_draws_are_certain_policies_rank_as_they_really_end() -> None:
    log = MemoryLog()
    found = compared(_begun(log=log), _NAMES, draws=2)
    really = {}
    for name in _NAMES:
        own = MemoryLog()
        own.append(log.read(), 0)
        really[name] = _go_on(Study.resume(own, make_policy(name)), 100).best
    ended = {name: best.loss for name, best in really.items() if best is not None}
    assert {one.policy: one.expected for one in found.outcomes} == pytest.approx(ended)
    assert ended[found.outcomes[0].policy] == min(ended.values())
    assert len(set(ended.values())) > 1  # there is something to rank
    for one in found.outcomes:
        assert one.behind == pytest.approx(ended[one.policy] - min(ended.values()))
        assert one.error == 0


@pytest.mark.usefixtures("certain")
def test_what_is_added_is_played_too() -> None:
    state = _begun(units=50)
    with pytest.raises(Misuse, match="name a budget to add"):
        compared(state, ["asha"])
    found = compared(state, ["asha"], "30 epochs", draws=2)
    assert found.spent_on == 30
    assert found.sentence == "asha alone was played"


def test_by_the_study_s_own_predictor_more_than_chance_is_expected() -> None:
    state = state_of("40 epochs", units=15)
    found = compared(state, ["sh", "default", "default"], draws=6)
    assert {one.policy for one in found.outcomes} == {"sh", "default"}
    assert found.best == state.best.loss  # type: ignore[union-attr]
    for one in found.outcomes:
        assert one.low <= one.expected <= one.high == found.best
    assert found == compared(state, ["sh", "default"], draws=6)


def test_a_maximised_metric_is_shown_in_its_direction() -> None:
    found = compared(state_of("40 epochs", units=15, metric="acc", mode="max"), ["sh"], draws=2)
    for one in found.outcomes:
        assert one.high >= one.expected >= one.low == found.best
        assert one.behind >= 0


def test_nothing_is_said_without_anything_to_go_by() -> None:
    with pytest.raises(Misuse, match="has not seen a finite loss"):
        compared(_begun(units=0), ["asha"])
    state = _begun()
    with pytest.raises(Misuse, match=r"policies is a list, such as .* not 'asha'"):
        compared(state, "asha")
    with pytest.raises(Misuse, match="at least one policy"):
        compared(state, [])
    with pytest.raises(Misuse, match="unknown policy"):
        compared(state, ["asha", "nonsense"])
    with pytest.raises(Misuse, match="at least 2"):
        compared(state, ["asha"], draws=1)
    with pytest.raises(Misuse, match="epochs"):
        compared(state, ["asha"], "2h")


def _comparison(*behind: tuple[str, float, float]) -> PolicyComparison:
    outcomes = tuple(
        PolicyOutcome(name, 1.0, 0.5, 1.5, by, error, 3.0) for name, by, error in behind
    )
    state = _begun(units=1)
    return PolicyComparison(state.ledger.budget, 10.0, 1.5, outcomes, 8)


def test_the_sentence_says_how_sure_it_is() -> None:
    level = _comparison(("a", 0, 0), ("b", 0.1, 0.09))
    assert level.sentence == "no policy is surely better than another from here"
    both = _comparison(("a", 0, 0), ("b", 0.1, 0.09), ("c", 0.2, 0.05))
    assert both.sentence == (
        "a is expected to end best, ahead of c by 0.2 ± 0.05; not surely ahead of b"
    )
