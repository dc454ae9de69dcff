"""How a study may end: joint draws by its predictor, and a tuner that is played in each of them.

Each draw is a possible world: how the most promising arms would go on, as likely together as the
predictor says. What is left of the budget is spent in every world by a stand-in for the policy,
which sees a curve only as far as it has trained it: it looks at new arms for a ninth of a full
training, lets the better ones go on to a third, and the best of those to the end, with an equal
share of the budget for each of these three rounds. Real policies spend a budget in about this way;
playing one of them decision by decision would take minutes. The outcome in a world is the lowest
loss that any arm reaches, or the best so far. Units in flight end in every world. How much of a
gain is counted follows from what came of earlier predictions of the same study (`hindsight`).

The worlds are drawn from the study as it stands, whatever budget is looked at afterwards: so
`status`, which looks at what is left, and `forecast`, which looks at more, say the same of it.

Notation:
    K  arms, S  draws, A  arms looked at, T  epochs of the grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.predictor import Ends, Predictor, scale_free
from bhpt.domain import BoolArray, FloatArray, IntArray, Memory, Objective, View
from bhpt.domain.budget import Budget
from bhpt.reports.factors import Factors
from bhpt.reports.records import Records
from bhpt.study import State, priced_view
from bhpt.study.deciding import can_pay_for_a_unit
from bhpt.study.pricing import Prospects
from bhpt.study.threads import one_thread

DRAWS = 300
_TAIL = 0.05  # of the worlds end lower than the low end of an interval
_ROUNDS = 3  # of the stand-in: first looks, a second one, full trainings
_LONGER = 3  # times the epochs of the round before
_CANDIDATES = 48  # arms that can be looked at, for each horizon
_WIDE = 2.5  # low ends of intervals lie this many times as far from the best as draws say
_SEED = 2
_ROUNDING = 1e-9


NO_GAIN = "no gain in sight"
"""Said of an interval without a width: nineteen of twenty draws end where the study stands."""


def ends_text(low: float, high: float) -> str:
    """The ends of a 90% interval in four digits, or words where they read the same."""
    ends = f"{low:.4g}", f"{high:.4g}"
    return NO_GAIN if ends[0] == ends[1] else " to ".join(ends)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an amount is expected to buy.

    Attributes:
        more: Additional budget, in the currency of the study; 0 for what is left already.
        expected: Mean of the best loss at its end.
        low: Lower end of the 90% interval.
        high: Upper end: the best so far, since it is always possible that nothing better comes.
        arms: How many arms get a part of the budget, on average; 0 if none can go on.
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

    @property
    def total(self) -> float:
        """Budget to spend, of all workers together."""
        return self.left * self.lanes

    def usable(self, epochs: int) -> float:
        """The part of the budget that arms can take: all of them trained to so many epochs."""
        units = -(-np.maximum(epochs - self.counts, 0) // self.unit)
        prices = np.where(units > 0, self.first + (units - 1) * self.later, 0.0)
        return min(self.total, float(prices[self.open].sum()))

    def rounds(self, arms: IntArray) -> int:
        """How many rounds can pay for a unit of some arms by each worker."""
        going = arms[self.open[arms]]
        if not len(going):
            return 1
        units = self.total / (self.workers * float(np.median(self.first[going])))
        return int(np.clip(units, 1, _ROUNDS))

    def advance(
        self, arms: IntArray, epochs: IntArray, target: int, own: float
    ) -> tuple[IntArray, FloatArray]:
        """How far arms get towards a number of epochs, and what that costs, [S, A] each.

        Args:
            arms: Which arms, [A].
            epochs: What they have had, [S, A].
            target: Where they are to go.
            own: What one arm may cost.
        """
        later = self.later[arms]
        first = np.where(epochs > self.counts[arms], later, self.first[arms])
        bought = np.where(own >= first, 1 + np.floor((own - first) / later + _ROUNDING), 0)
        units = np.minimum(-(-np.maximum(target - epochs, 0) // self.unit), bought)
        units = np.where(self.open[arms], units, 0).astype(np.int64)
        reached = np.where(units > 0, np.minimum(epochs + units * self.unit, target), epochs)
        return reached, np.where(units > 0, first + (units - 1) * later, 0.0)


@dataclass(frozen=True, slots=True)
class GainTrust:
    """How far predicted losses below the best so far are trusted.

    Attributes:
        best: The best loss so far.
        trust: The part of a predicted gain that is counted.
        floor: No loss can be lower.
    """

    best: float
    trust: float = 1.0
    floor: float = -np.inf

    def of(self, losses: FloatArray) -> FloatArray:
        """Predicted losses with gains below the best so far scaled by the trust, [any]."""
        gain = np.maximum(self.best - losses, 0.0)
        return np.maximum(losses + (1 - self.trust) * gain, self.floor)

    def low(self, loss: float) -> float:
        """The low end of an interval, which says how uncertain the trust itself is."""
        gain = max(self.best - loss, 0.0)
        return max(min(loss, self.best) + (1 - _WIDE * self.trust) * gain, self.floor)

    def expected(self, losses: FloatArray) -> tuple[float, float]:
        """The mean of the losses that draws end with, and the low end of their interval.

        Args:
            losses: As predicted, one a draw, [S].
        """
        mean = min(float(self.of(losses).mean()), self.best)  # it may be rounded
        low = float(self.low(float(np.quantile(losses, _TAIL))))
        return mean, min(low, mean)


def expected_end(
    losses: FloatArray, gain_trust: GainTrust, records: Records | None, left: float
) -> tuple[float, float]:
    """The expected best loss at the end, and the low end of its interval.

    Half of it is what the worlds say, half what arms like those before would bring.

    Args:
        losses: What the worlds end with, one a draw, [S].
        gain_trust: How far gains below the best so far are trusted.
        records: What arms like those before would bring; None while that is not known.
        left: What is left of the budget and can be used, of all workers together.
    """
    mean, low = gain_trust.expected(losses)
    if records is not None:
        likely, lowest = records.expected(left)
        mean, low = (mean + likely) / 2, (low + lowest) / 2
    return min(mean, gain_trust.best), min(low, mean, gain_trust.best)


@dataclass(frozen=True, eq=False)
class Worlds:
    """Draws of how the most promising arms of a study go on.

    Attributes:
        view: The study as it stands, with what is left.
        prospects: What the next unit of every arm takes.
        ends: What the predictor says, of losses by factors where it was shown these.
        best: The best loss so far.
        workers: Workers that train side by side.
        arms: Candidates, those in flight first, [A].
        paths: The best loss of the study if an arm alone reached an epoch, [S, A, T + 1].
        gain_trust: How far gains below the best so far are trusted.
        records: What arms like those before would bring; None while that is not known.
    """

    view: View
    prospects: Prospects
    ends: Ends
    best: float
    workers: int
    arms: IntArray
    paths: FloatArray
    gain_trust: "GainTrust"
    records: Records | None = None

    @property
    def counts(self) -> IntArray:
        """Epochs that each arm has, units in flight included, [K]."""
        return self.view.epochs_with_flights

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

    def outcome(self, amount: float, chance: "Chance", played: "Played") -> "Outcome":
        """What an amount brings.

        Args:
            amount: What is added to the budget.
            chance: What that makes possible.
            played: What comes of it in the worlds.
        """
        left = chance.usable(self.view.curves.epochs)
        mean, low = expected_end(played.losses, self.gain_trust, self.records, left)
        return Outcome(amount, mean, low, self.best, played.arms)

    def played(self, chance: "Chance") -> "Played":
        """Spend a budget in every world as the stand-in does."""
        arms, counts = self.arms, self.counts[self.arms]
        rounds = chance.rounds(arms)
        each = chance.total / rounds
        epochs = np.tile(counts, (len(self.paths), 1))
        promise = self.ends.within(self.view.remaining).mean()[arms]
        seen, spare = np.tile(promise, (len(self.paths), 1)), np.zeros(len(self.paths))
        for coming in reversed(range(rounds)):
            target = -(-self.view.curves.epochs // _LONGER**coming)
            reached, prices = chance.advance(arms, epochs, target, each / chance.workers)
            paid = _paid_in_order(seen, prices, each + spare)
            epochs = np.where(paid, reached, epochs)
            spare = np.maximum(each + spare - np.where(paid, prices, 0.0).sum(axis=1), 0.0)
            seen = np.where((epochs >= target) | (paid & (prices > 0)), self._at(epochs), np.inf)
        trained = float((epochs > counts).sum(axis=1).mean())
        return Played(self._at(epochs).min(axis=1), int(np.ceil(trained)))

    def _at(self, epochs: IntArray) -> FloatArray:
        """The best loss of the study if one arm alone had so many epochs, [S, A]."""
        last = np.minimum(epochs, self.paths.shape[2] - 1)
        losses: FloatArray = np.take_along_axis(self.paths, last[:, :, None], axis=2)[:, :, 0]
        return losses


@dataclass(frozen=True, eq=False)
class Played:
    """A budget that was spent in every world.

    Attributes:
        losses: The best loss of the study at its end, [S].
        arms: How many arms were trained, on average.
    """

    losses: FloatArray
    arms: int

    def or_better(self, other: "Played | None") -> "Played":
        """The one with the lower mean: more budget may also be spent as less was, and kept."""
        better = other is not None and other.losses.mean() < self.losses.mean()
        return other if better and other is not None else self


def _paid_in_order(seen: FloatArray, prices: FloatArray, amounts: FloatArray) -> BoolArray:
    """Arms that an amount pays for in each world, those with the lowest losses first, [S, A]."""
    order = np.argsort(seen, axis=1, kind="stable")
    total = np.cumsum(np.take_along_axis(prices, order, axis=1), axis=1)
    paid = np.zeros(seen.shape, bool)
    np.put_along_axis(paid, order, total <= amounts[:, None] * (1 + _ROUNDING), axis=1)
    return paid & np.isfinite(seen)


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
        trust: The part of a predicted gain that is counted.
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
    factors = Factors.of(view) if scale_free(predictor) else None
    ends = predictor.predict(view if factors is None else factors.seen(view))
    arms = _candidates(view, ends, _CANDIDATES)
    if not len(arms):
        return None
    paths = ends.paths(arms, DRAWS, np.random.default_rng((state.plan.seed, _SEED)))
    paths = np.minimum(paths if factors is None else factors.losses(paths), best)
    paths[:, :, 0] = best
    return Worlds(
        view=view,
        prospects=prospects,
        ends=ends,
        best=best,
        workers=state.session_workers,
        arms=arms,
        paths=paths,
        gain_trust=GainTrust(best, trust, view.curves.lowest_possible),
        records=Records.of(view, spent_on_epochs(state)),
    )


def spent_on_epochs(state: State) -> float:
    """What the epochs so far cost one worker at the prices of now, in the budget's currency.

    A budget in epochs is spent on nothing else. Of other kinds, what went into starts, and into
    units that took longer than others of their arm, is left out.
    """
    looked = None
    if state.ledger.budget.rules.by_time:
        looked = look_at(state, state.ledger.budget.amount)
    if looked is None:
        return state.ledger.used
    view, prospects = looked
    return float(view.curves.count_by_arm @ (prospects.typical / prospects.epochs))


def added_amount(state: State, more: str | Budget) -> float:
    """How much a budget adds to that of a study.

    Raises:
        Misuse: It is no budget, or of another kind.
    """
    budget = state.ledger.budget
    parsed = Budget.parse(more, budget.price_per_hour)
    budget.plus(parsed)  # refuses another kind
    return parsed.amount


def look_at(state: State, amount: float) -> tuple[View, Prospects] | None:
    """The study as it would look with so much more to spend."""
    if not amount:
        return priced_view(state)
    more = replace(state.ledger.budget, amount=amount)
    return priced_view(replace(state, ledger=state.ledger.add(more)))


def is_spent(state: State) -> bool:
    """Whether the study is over: nothing is in flight, and what is left is not worth a session."""
    return not state.open and not can_pay_for_a_unit(state)


def is_priced(state: State) -> bool:
    """Whether it is known about how many epochs the budget buys.

    Where time counts it is not before a unit was timed that pays for no start: with first units of
    workers that had to import, compile and warm up, a budget would look much smaller than it is.
    """
    if not state.ledger.budget.rules.by_time:
        return True
    looked = look_at(state, state.ledger.budget.amount)
    return looked is None or not looked[1].starts_alone


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
