"""What more budget is expected to buy, from joint draws of how curves go on (see `worlds`).

Each amount is spent in every draw by a stand-in for the policy. A larger amount may also be spent
as a smaller one was, so the expected loss never rises with the budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import Memory, Misuse, Objective
from bhpt.domain.arguments import refuse_one_text
from bhpt.domain.budget import Budget
from bhpt.policies.interface import PredictingPolicy
from bhpt.policies.study_predictor import policy_named, predictor_of
from bhpt.reports.hindsight import trust
from bhpt.reports.worlds import (
    DRAWS,
    Outcome,
    Played,
    added_amount,
    draw_worlds,
    ends_text,
    is_priced,
    is_spent,
    look_at,
    no_better,
    one_worker,
)
from bhpt.storage import read_store
from bhpt.study import State
from bhpt.study.html_summary import table_html

_ASSUMED = (
    "Assumed: curves go on as the {} predictor expects from what was seen so far, and the "
    "additional budget goes to the most promising arms, the better ones of which are trained on. "
    "A gain counts as far as such predictions came true earlier in this study. Once five "
    "configurations were tried, half of what is expected is what more like them would bring. "
    "The interval holds about 90%; that nothing better comes is always possible."
)
_PARTS = (0.1, 0.25, 0.5, 1.0, 2.0)  # of the budget so far, if no amounts are given


@dataclass(frozen=True, slots=True)
class Forecast:
    """Outcomes by amount.

    Attributes:
        budget: The limit so far.
        left: What is left of it, 0 where that is not worth a session.
        best: The best value of the metric so far.
        outcomes: The smallest amount first.
        own_predictor: Whether the study's policy names its predictor; else it is the learned one.
        draws: How many worlds were drawn.
        objective: The metric and its direction; all values are in it.
    """

    budget: Budget
    left: float
    best: float
    outcomes: tuple[Outcome, ...]
    own_predictor: bool
    draws: int = DRAWS
    objective: Objective = field(default_factory=Objective)

    @property
    def assumed(self) -> str:
        """What the numbers rest on, for whoever reads them."""
        return _ASSUMED.format("study's" if self.own_predictor else "learned")

    @property
    def in_parts(self) -> bool:
        """Whether gains are said as parts of the best value so far.

        They are not where one would be more than all of it, as of losses that fall through zero.
        """
        return all(abs(one.expected - self.best) <= abs(self.best) for one in self.outcomes)

    def gain_text(self, gain: float) -> str:
        """An improvement of the metric for people, such as `8.4%` or `1.37`."""
        if self.in_parts and self.best:
            return f"{gain / abs(self.best):.1%}"
        return f"{gain:.4g}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rules, metric = self.budget.rules, self.objective.metric
        rows = [(f"best {metric} now", f"{self.best:.5g}")]
        for one in self.outcomes:
            if one.more or self.left > 0:
                name = rules.text(one.more) if one.more else rules.text(self.left)
                text = f"{one.expected:.5g} expected ({ends_text(one.low, one.high)})"
                rows.append((f"{name} {'more' if one.more else 'left'}", text))
        return table_html(rows)


def forecast_study(study: str | Path, more: Sequence[str | Budget] = ()) -> Forecast:
    """Forecast a study that is kept somewhere; it is only read.

    Args:
        study: Its file or address.
        more: Additional budgets, such as "50 epochs"; parts of its own budget if none.

    Raises:
        Misuse: There is no such study, or it has nothing to forecast from.
    """
    with read_store(study) as reader:
        state = reader.folded().state
    return forecast(state, more)


def forecast(state: State, more: Sequence[str | Budget] = ()) -> Forecast:
    """What each amount of additional budget is expected to buy.

    Args:
        state: The study.
        more: Additional budgets; parts of its own budget if none.

    Raises:
        Misuse: Nothing finite was observed yet, nothing is known of prices, or an amount is of
            another kind.
    """
    refuse_one_text("more", more, "['50 epochs']")
    if state.best is None:
        raise Misuse("nothing to forecast from: the study has not seen a finite loss yet")
    if not is_priced(state):
        raise Misuse(
            "nothing to forecast from: how long an epoch takes is not known yet, as all units so "
            "far pay for a start: ask again after the next one"
        )
    amounts = _amounts(state, more)
    policy = policy_named(state.plan.policy)
    objective = state.plan.objective
    found = outcomes(state, predictor_of(policy), Memory(), amounts)
    return Forecast(
        state.ledger.budget,
        0.0 if is_spent(state) else state.ledger.left,
        objective.from_loss(state.best.loss),
        tuple(one.shown(objective) for one in found),
        isinstance(policy, PredictingPolicy),
        objective=objective,
    )


def _amounts(state: State, more: Sequence[str | Budget]) -> list[float]:
    """Nothing more, then what was named, each once, in order."""
    budget = state.ledger.budget
    if more:
        named = [added_amount(state, one) for one in more]
    else:
        unit = state.plan.training.unit
        named = [budget.rules.rounded(part * budget.amount, unit) for part in _PARTS]
    return sorted({0.0, *named})


def outcomes(
    state: State, predictor: Predictor, memory: Memory, amounts: Sequence[float]
) -> tuple[Outcome, ...]:
    """What each amount is expected to buy.

    Args:
        state: The study, which has seen a finite loss.
        predictor: Its predictor.
        memory: What the predictor has prepared for it.
        amounts: Additional budgets, the smallest first; 0 for what is left already.
    """
    trusted = trust(state, predictor)
    found = _outcomes(state, predictor, memory, amounts, trusted)
    alone = one_worker(state)
    if alone is None:
        return found
    others = _outcomes(alone, predictor, Memory(), amounts, trusted)
    return tuple(map(no_better, found, others))


def _outcomes(
    state: State, predictor: Predictor, memory: Memory, amounts: Sequence[float], trusted: float
) -> tuple[Outcome, ...]:
    best = float("inf") if state.best is None else state.best.loss
    worlds = draw_worlds(state, predictor, memory, amounts, trusted)
    if worlds is None:
        return tuple(Outcome(amount, best, best, best, 0) for amount in amounts)
    played: Played | None = None
    found = []
    for amount in amounts:
        looked = look_at(state, amount)
        chance = worlds.chance(0.0 if looked is None else None, looked)
        played = worlds.played(chance).or_better(played)
        found.append(worlds.outcome(amount, chance, played))
    return tuple(found)
