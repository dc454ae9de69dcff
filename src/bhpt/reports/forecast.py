"""What more budget is expected to buy, from the belief's joint draws of how curves go on.

Each draw is a possible world: how the most promising arms would go on, correlated as the belief
says. A plan is a set of arms that share the additional budget evenly; its outcome in a world is
the lowest loss that any of them reaches, or the best so far. For each amount the plan with the
lowest mean outcome is reported. Several workers cannot train one arm together, so a plan has at
least as many arms as there are workers. Plans are few and fixed, every amount is played in the
same worlds, and an arm's share only grows, so the expected loss never rises with the budget.

A plan does not look at what comes in, while the tuner decides anew after every unit: it should
do at least as well as the forecast on average.

Notation:
    S  draws, A  arms looked at, T  epochs of the grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bhpt.beliefs.freeze_thaw import FreezeThaw, Mixture
from bhpt.domain import BoolArray, FloatArray, IntArray, Misuse, Objective, View
from bhpt.domain.budget import Budget
from bhpt.policies.interface import Policy
from bhpt.policies.registry import make_policy, our_belief
from bhpt.storage import read_store
from bhpt.study import State, fold, look
from bhpt.study.deciding import workers
from bhpt.study.pricing import Prospects

_DRAWS = 1000
_SHARED_BY = (1, 2, 3, 4, 6, 8)  # how many arms a plan may spread the budget over
_PARTS = (0.1, 0.25, 0.5, 1.0, 2.0)  # of the budget so far, if nobody names amounts
_TAILS = (0.05, 0.95)
_SEED = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an amount is expected to buy.

    Attributes:
        more: Additional budget, in the currency of the study; 0 for what is left already.
        expected: Mean of the best value of the metric at its end.
        low: Lower end of the 90% interval.
        high: Upper end.
        arms: How many arms the budget is spread over in the best plan, 0 if none can go on.
    """

    more: float
    expected: float
    low: float
    high: float
    arms: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Outcomes by amount.

    Attributes:
        budget: The limit so far.
        left: What is left of it.
        best: The best value of the metric so far.
        outcomes: The smallest amount first.
        own_belief: Whether the study's policy has a belief; else the default's was used.
        draws: How many worlds were drawn.
        objective: The metric and its direction; all values are in it.
    """

    budget: Budget
    left: float
    best: float
    outcomes: tuple[Outcome, ...]
    own_belief: bool
    draws: int = _DRAWS
    objective: Objective = field(default_factory=Objective)


def forecast_study(study: str | Path, more: Sequence[str | Budget] = ()) -> Forecast:
    """Forecast a study that is kept somewhere; it is only read.

    Args:
        study: Its file or address.
        more: Additional budgets, such as "50 epochs"; parts of its own budget if none.

    Raises:
        Misuse: There is no such study, or it has nothing to forecast from.
    """
    with read_store(study) as reader:
        state = fold(event for event, _ in reader.stream())
    return forecast(state, more)


def forecast(state: State, more: Sequence[str | Budget] = ()) -> Forecast:
    """What each amount of additional budget is expected to buy.

    Args:
        state: The study.
        more: Additional budgets; parts of its own budget if none.

    Raises:
        Misuse: Nothing finite was observed yet, or an amount is of another kind.
    """
    if state.best is None:
        raise Misuse("nothing to forecast from: the study has not seen a finite loss yet")
    amounts = _amounts(state, more)
    policy = _policy(state)
    own = getattr(policy, "belief", None)
    known = isinstance(own, FreezeThaw)
    belief = own if isinstance(own, FreezeThaw) else our_belief()
    objective = state.plan.objective
    return Forecast(
        state.ledger.budget,
        state.ledger.left,
        objective.from_loss(state.best.loss),
        tuple(_shown(one, objective) for one in _outcomes(state, belief, amounts)),
        known,
        objective=objective,
    )


def _shown(outcome: Outcome, objective: Objective) -> Outcome:
    """An outcome of losses as one of the metric, in the user's direction."""
    if objective.mode == "min":
        return outcome
    return replace(outcome, expected=-outcome.expected, low=-outcome.high, high=-outcome.low)


def _policy(state: State) -> Policy | None:
    """The study's policy, None if it was an object that nobody can make from its name."""
    try:
        return make_policy(state.plan.policy)
    except Misuse:
        return None


def _amounts(state: State, more: Sequence[str | Budget]) -> list[float]:
    """Nothing more, then what was named, each once, in order."""
    budget = state.ledger.budget
    if more:
        parsed = [Budget.parse(text, budget.price_per_hour) for text in more]
        for one in parsed:
            budget.plus(one)  # refuses another kind
        named = [one.amount for one in parsed]
    else:
        unit = state.plan.training.unit
        named = [budget.rules.rounded(part * budget.amount, unit) for part in _PARTS]
    return sorted({0.0, *named})


@dataclass(frozen=True, eq=False)
class _Chance:
    """What an amount of budget makes possible.

    Attributes:
        left: Budget to spend, in all.
        lanes: Workers that share the clock, 1 where a total is split.
        workers: Workers that train side by side, each another arm.
        unit: Epochs in a unit.
        first: Price of an arm's next unit, epochs to be trained again included, [K].
        later: Price of a further unit, [K].
        open: Arms that can go on, [K].
        counts: Epochs that each arm has, units in flight included, [K].
    """

    left: float
    lanes: int
    workers: int
    unit: int
    first: FloatArray
    later: FloatArray
    open: BoolArray
    counts: IntArray

    def epochs(self, arms: IntArray, share: int) -> IntArray:
        """Epochs that each arm reaches if `share` arms split the budget evenly, [A]."""
        own = self.left * self.lanes / max(share, self.workers)
        bought = 1 + np.floor((own - self.first[arms]) / self.later[arms] + 1e-9)
        units = np.where(self.open[arms] & (own >= self.first[arms]), bought, 0)
        reached: IntArray = self.counts[arms] + np.maximum(units, 0).astype(np.int64) * self.unit
        return reached


def _outcomes(state: State, belief: FreezeThaw, amounts: Sequence[float]) -> list[Outcome]:
    looks = [_look(state, amount) for amount in amounts]
    views = [looked[0] for looked in looks if looked is not None]
    best = float("inf") if state.best is None else state.best.loss
    if not views:
        return [Outcome(amount, best, best, best, 0) for amount in amounts]
    mixture = belief.condition(views[-1])
    chances = [
        None if looked is None else _chance(state, *looked, mixture.counts) for looked in looks
    ]
    plans = _plans(mixture, [chance for chance in chances if chance is not None])
    arms = np.array(sorted({arm for plan in plans for arm in plan}), np.int64)
    if not len(arms):
        return [Outcome(amount, best, best, best, 0) for amount in amounts]
    curves = _futures(state, mixture, arms, best)
    place = {int(arm): column for column, arm in enumerate(arms)}
    return [
        Outcome(amount, best, best, best, 0)
        if chance is None
        else _best_plan(amount, chance, plans, curves, place)
        for amount, chance in zip(amounts, chances, strict=True)
    ]


def _look(state: State, amount: float) -> tuple[View, Prospects] | None:
    """The study as it would look with so much more to spend."""
    if not amount:
        return look(state)
    more = replace(state.ledger.budget, amount=amount)
    return look(replace(state, ledger=state.ledger.add(more)))


def _chance(state: State, view: View, prospects: Prospects, counts: IntArray) -> _Chance:
    possible = prospects.possible.copy()
    for attempt in state.flying:  # they are busy now, and can go on after that
        possible[attempt.unit.arm] = True
    fresh = np.minimum(prospects.unit, np.maximum(view.curves.epochs - counts, 1))
    return _Chance(
        left=view.left,
        lanes=view.lanes,
        workers=workers(state),
        unit=prospects.unit,
        first=prospects.typical,
        later=prospects.typical / prospects.epochs * fresh,
        open=possible & (counts < view.curves.epochs),
        counts=counts,
    )


def _plans(mixture: Mixture, chances: Sequence[_Chance]) -> list[tuple[int, ...]]:
    """For each amount the arms with the best predicted ends, alone or several together."""
    plans: dict[tuple[int, ...], None] = {}
    arms = np.arange(len(mixture.counts))
    for chance in chances:
        horizon = chance.epochs(arms, 1) - mixture.counts
        means = mixture.ends(horizon).mean
        order = np.argsort(means, kind="stable")
        order = order[np.isfinite(means[order])]
        busy = min(chance.workers, len(order))
        for share in sorted({busy, *_SHARED_BY}):
            if 0 < busy <= share <= len(order):
                plans[tuple(int(arm) for arm in order[:share])] = None
    return list(plans)


def _futures(state: State, mixture: Mixture, arms: IntArray, best: float) -> FloatArray:
    """The best loss of the study if an arm alone reached an epoch, [S, A, T + 1]."""
    drawn = mixture.futures(arms, _DRAWS, np.random.default_rng((state.plan.seed, _SEED)))
    losses = mixture.scaled.loss(drawn)
    known = np.array([state.count(int(arm)) for arm in arms])
    seen = np.arange(losses.shape[2]) < known[:, None]
    losses = np.where(seen[None], best, losses)
    start = np.full((*losses.shape[:2], 1), best)
    lowest: FloatArray = np.minimum.accumulate(np.concatenate([start, losses], axis=2), axis=2)
    return lowest


def _best_plan(
    amount: float,
    chance: _Chance,
    plans: Sequence[tuple[int, ...]],
    curves: FloatArray,
    place: dict[int, int],
) -> Outcome:
    """The plan with the lowest mean outcome."""
    found: tuple[float, FloatArray, int] | None = None
    for plan in plans:
        arms = np.array(plan, np.int64)
        reached = np.minimum(chance.epochs(arms, len(plan)), curves.shape[2] - 1)
        columns = np.array([place[arm] for arm in plan])
        worlds = curves[:, columns, reached].min(axis=1)
        mean = float(worlds.mean())
        if found is None or mean < found[0]:
            found = (mean, worlds, len(plan))
    assert found is not None, "there is a plan wherever there is a chance"
    low, high = (float(end) for end in np.quantile(found[1], _TAILS))
    return Outcome(amount, found[0], low, high, found[2])
