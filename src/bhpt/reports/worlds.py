"""How a study may end: joint draws by its predictor, and the best way to spend a budget in them.

Each draw is a possible world: how the most promising arms would go on, as likely together as the
predictor says. A plan is a set of arms that share a budget evenly; its outcome in a world is the
lowest loss that any of them reaches, or the best so far. Of several plans the one with the lowest
mean outcome counts. Several workers cannot train one arm together, so a plan has at least as many
arms as there are workers. Units in flight end in every world. How much of a gain is believed
follows from what came of earlier predictions of the same study (`hindsight`).

The worlds are drawn from the study as it stands, whatever budget is looked at afterwards: so
`status`, which looks at what is left, and `forecast`, which looks at more, say the same of it.

Notation:
    K  arms, S  draws, A  arms looked at, T  epochs of the grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import BoolArray, FloatArray, IntArray, Memory, Objective, View
from bhpt.study import State, look
from bhpt.study.pricing import Prospects
from bhpt.study.threads import one_thread

DRAWS = 1000
TAILS = (0.05, 0.95)
_SHARED_BY = (1, 2, 3, 4, 6, 8, 12, 16)  # how many arms a plan may spread the budget over
_CANDIDATES = 16  # arms that plans are made of, for each horizon
_WIDE = 2.0  # low ends of intervals lie this many times as far from the best as draws say
_SEED = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an amount is expected to buy.

    Attributes:
        more: Additional budget, in the currency of the study; 0 for what is left already.
        expected: Mean of the best loss at its end.
        low: Lower end of the 90% interval.
        high: Upper end: the best so far, since it is always possible that nothing better comes.
        arms: How many arms the budget is spread over in the best plan, 0 if none can go on.
    """

    more: float
    expected: float
    low: float
    high: float
    arms: int

    def shown(self, objective: Objective) -> "Outcome":
        """An outcome of losses as one of the metric, in the user's direction."""
        if objective.mode == "min":
            return self
        return replace(self, expected=-self.expected, low=-self.high, high=-self.low)


def no_better(outcome: Outcome, alone: Outcome) -> Outcome:
    """An outcome of several workers that promises no more than one worker would."""
    expected, low = max(outcome.expected, alone.expected), max(outcome.low, alone.low)
    return replace(outcome, expected=expected, low=min(low, expected))


def one_worker(state: State) -> State | None:
    """A study whose workers share a total, as if it had one; None if it has, or shares a clock."""
    if state.session_workers == 1 or state.ledger.budget.rules.shared:
        return None
    return replace(state, session=None, plan=replace(state.plan, workers=1))


@dataclass(frozen=True, eq=False)
class Chance:
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


@dataclass(frozen=True, slots=True)
class Belief:
    """How far predicted losses below the best so far are believed.

    Attributes:
        best: The best loss so far.
        trust: The part of a predicted gain that is believed.
        floor: No loss can be lower.
    """

    best: float
    trust: float = 1.0
    floor: float = -np.inf

    def of(self, losses: FloatArray) -> FloatArray:
        """Predicted losses as they are believed; those above the best so far as they are, [any]."""
        gain = np.maximum(self.best - losses, 0.0)
        return np.maximum(losses + (1 - self.trust) * gain, self.floor)

    def low(self, loss: float) -> float:
        """The low end of an interval, which says how uncertain the trust itself is."""
        gain = max(self.best - loss, 0.0)
        return max(min(loss, self.best) + (1 - _WIDE * self.trust) * gain, self.floor)


@dataclass(frozen=True, eq=False)
class Worlds:
    """Draws of how the most promising arms of a study go on.

    Attributes:
        view: The study as it stands, with what is left.
        prospects: What the next unit of every arm takes.
        ends: What the predictor says.
        best: The best loss so far.
        workers: Workers that train side by side.
        arms: Candidates, those in flight first, [A].
        paths: The best loss of the study if an arm alone reached an epoch, [S, A, T + 1].
        belief: What of a gain below the best so far is believed.
    """

    view: View
    prospects: Prospects
    ends: Ends
    best: float
    workers: int
    arms: IntArray
    paths: FloatArray
    belief: "Belief"

    @cached_property
    def counts(self) -> IntArray:
        """Epochs that each arm has, units in flight included, [K]."""
        return counts_with_flights(self.view)

    def chance(self, left: float | None, looked: tuple[View, Prospects] | None) -> "Chance":
        """What a budget makes possible.

        Args:
            left: The budget, if nothing can be started with it.
            looked: The study with this budget, if something can.
        """
        view, prospects = (self.view, self.prospects) if looked is None else looked
        possible = prospects.possible.copy()
        possible[self.view.pending] = True  # they are busy now, and can go on after that
        fresh = np.minimum(prospects.unit, np.maximum(view.curves.epochs - self.counts, 1))
        return Chance(
            left=view.left if left is None else left,
            lanes=view.lanes,
            workers=self.workers,
            unit=prospects.unit,
            first=prospects.typical,
            later=prospects.typical / prospects.epochs * fresh,
            open=possible & (self.counts < view.curves.epochs),
            counts=self.counts,
        )

    def plans(self, chance: "Chance") -> list[tuple[int, ...]]:
        """Candidates with the best ends that a budget can reach, alone or several together.

        A plan is a tuple of places among the candidates.
        """
        reached = chance.epochs(np.arange(self.view.arms), 1)
        units = -(-(reached - self.counts) // self.view.unit)
        means = self.ends.within(units).mean()[self.arms]
        going = reached[self.arms] > self.counts[self.arms]
        order = [int(at) for at in np.argsort(means, kind="stable") if going[at]]
        busy = min(chance.workers, len(order))
        shares = sorted({busy, *_SHARED_BY})
        return [tuple(order[:n]) for n in shares if 0 < busy <= n <= len(order)]

    def outcome(
        self, amount: float, chance: "Chance", plans: Sequence[tuple[int, ...]]
    ) -> "Outcome":
        """What the plan with the lowest mean outcome brings, as far as that is believed."""
        worlds, arms = self.played(chance, plans)
        mean = min(float(self.belief.of(worlds).mean()), self.best)  # a mean may be rounded
        low = float(self.belief.low(float(np.quantile(worlds, TAILS[0]))))
        return Outcome(amount, mean, min(low, mean), self.best, arms)

    def played(self, chance: "Chance", plans: Sequence[tuple[int, ...]]) -> tuple[FloatArray, int]:
        """The plan with the lowest mean outcome: the best loss in each world, [S], and its arms."""
        flying = np.isin(self.arms, self.view.pending)
        at_rest = np.where(flying, self.counts[self.arms], 0)
        worlds, arms = self._at(at_rest), 0
        for plan in plans:
            places = np.array(plan, np.int64)
            epochs = at_rest.copy()
            epochs[places] = chance.epochs(self.arms[places], len(plan))
            played = self._at(epochs)
            if played.mean() < worlds.mean():
                worlds, arms = played, len(plan)
        return worlds, arms

    def _at(self, epochs: IntArray) -> FloatArray:
        """The best loss of the study once each candidate has had so many epochs, [S]."""
        last = np.minimum(epochs, self.paths.shape[2] - 1)
        lowest: FloatArray = self.paths[:, np.arange(len(last)), last].min(axis=1)
        return lowest


def draw_worlds(
    state: State,
    predictor: Predictor,
    memory: Memory,
    amounts: Sequence[float] = (),
    trust: float = 1.0,
) -> Worlds | None:
    """Possible worlds of a study; None if nothing can go on or nothing is known.

    Args:
        state: The study, which has seen a finite loss.
        predictor: Its predictor.
        memory: What the predictor has prepared for it.
        amounts: Additional budgets: where nothing can be started with what is left, the worlds
            are drawn from the study with the first of them that changes that.
        trust: The part of a predicted gain that is believed.
    """
    looked = next(filter(None, (look_at(state, amount) for amount in (0.0, *amounts))), None)
    if looked is None or state.best is None:
        return None
    with one_thread():
        return _drawn(state, predictor, replace(looked[0], memory=memory), looked[1], trust)


def _drawn(
    state: State, predictor: Predictor, view: View, prospects: Prospects, trust: float
) -> Worlds | None:
    best = view.curves.best
    ends = predictor.predict(view)
    arms = _candidates(view, ends, _CANDIDATES)
    if not len(arms):
        return None
    paths = ends.paths(arms, DRAWS, np.random.default_rng((state.plan.seed, _SEED)))
    paths = np.minimum(paths, best)
    paths[:, :, 0] = best
    belief = Belief(best, trust, view.curves.lowest_possible)
    return Worlds(view, prospects, ends, best, state.session_workers, arms, paths, belief)


def look_at(state: State, amount: float) -> tuple[View, Prospects] | None:
    """The study as it would look with so much more to spend."""
    if not amount:
        return look(state)
    more = replace(state.ledger.budget, amount=amount)
    return look(replace(state, ledger=state.ledger.add(more)))


def _candidates(view: View, ends: Ends, most: int) -> IntArray:
    """Arms in flight, and those that are predicted to end lowest soon or at all, [A]."""
    chosen = [view.pending]
    for horizon in (view.horizon, view.remaining):
        means = np.where(horizon > 0, ends.within(horizon).mean(), np.nan)
        order = np.argsort(means, kind="stable")[:most]
        chosen.append(order[np.isfinite(means[order])])
    arms = np.concatenate(chosen)
    known = np.isfinite(ends.mean()[arms])
    _, first = np.unique(arms[known], return_index=True)
    candidates: IntArray = arms[known][np.sort(first)]
    return candidates


def counts_with_flights(view: View) -> IntArray:
    """Epochs that each arm has once its unit in flight is done, [K]."""
    counts = view.curves.count_by_arm.copy()
    counts[view.pending] = np.minimum(counts[view.pending] + view.unit, view.curves.epochs)
    return counts
