"""Fabolas, adapted to learning curves: which arm next, and to which part of its training.

Notation:
    a level  units of training that an arm can be taken to: 1, 2, 4, .., all
    a look   (arm, level); it costs the units that the arm has not had yet
    gain     expected fall of the entropy of argmin F, the best arm at full training
    A turn runs the look of the highest gain per unit until its level is reached.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.scale import Scale
from bhpt.bench.baselines import fabolas_model as model
from bhpt.bench.baselines.expected_improvement import log_improvement
from bhpt.bench.baselines.minimiser_entropy import Outcomes, information_gains
from bhpt.domain import BoolArray, Curves, FloatArray, IntArray, View
from bhpt.policies.interface import Decision, Explanation, SequentialPolicy, refuse_side_by_side

_SCALE = Scale("log", running=False)
_REPRESENTERS = 50  # arms among which the minimiser is sought, as in Fabolas
_LOOKED_AT = 20  # of them, those that a look is considered at
_DRAWS = 256
_NODES = 3
_SAMPLES = 3
_BURN, _WARM = 10, 2  # sweeps before the first sample of a first and of a later fit
_REFIT = 1.1  # θ is drawn again when the reports have grown by this factor


@dataclass(frozen=True, eq=False)
class FidelityLook:
    """A look that is being taken.

    Attributes:
        start: Reports before its first unit.
        arm: Which arm.
        level: Units that the arm has had when it ends.
        thetas: Settings that the model had.
        fitted: Reports that they were drawn after.
    """

    start: int
    arm: int
    level: int
    thetas: tuple[FloatArray, ...]
    fitted: int


class Fabolas(SequentialPolicy):
    """Runs turn after turn; what it remembers of the last one only saves work."""

    def __init__(self) -> None:
        """Nothing is known before the first view."""
        self._last: tuple[bytes, FidelityLook] | None = None

    def decide(self, view: View) -> Decision | None:
        """Follow the turns through the reports; the unit after the last report is run."""
        refuse_side_by_side(self, 1 + len(view.pending))
        if not view.choosable.any():
            return None
        turn = self._remembered(view) or _first(view)
        while (end := ended(view, turn)) is not None:
            turn = following(view, turn, end)
        self._last = (_key(view, turn.start), turn)
        why = f"Fabolas: to {turn.level} units"
        return Decision(turn.arm, Explanation.in_words(why, view.arms))

    def _remembered(self, view: View) -> FidelityLook | None:
        if self._last is None:
            return None
        key, turn = self._last
        known = turn.start <= len(view.curves.reports) and key == _key(view, turn.start)
        return turn if known else None


def levels(view: View) -> IntArray:
    """1, 2, 4, .. and all units of an arm."""
    most = view.full
    doubled = 2 ** np.arange(int(np.ceil(np.log2(most))) if most > 1 else 0)
    return np.append(doubled, most).astype(np.int64)


def ended(view: View, turn: FidelityLook) -> int | None:
    """Reports after which a turn was over, or None if its next unit is to be run now.

    A turn is over when its level is reached, when another arm was run, and when its arm cannot
    be run; every turn takes at least one report that is there.
    """
    curves = view.curves
    rows, reports = curves.reports[:, 0], len(curves.reports)
    before = curves.first(turn.start).row_of
    had = 0
    if turn.arm in before:
        row = before[turn.arm]
        had = -(-int(curves.reports[: turn.start][rows[: turn.start] == row, 1].sum()) // view.unit)
    at = turn.start
    while at < reports and had < turn.level and curves.visited[rows[at]] == turn.arm:
        at, had = at + 1, had + 1
    if at == reports and had < turn.level and view.choosable[turn.arm]:
        return None
    return max(at, min(turn.start + 1, reports))


def _first(view: View) -> FidelityLook:
    """Any arm, one unit."""
    theta = model.centre(view.features.shape[1])
    arm = int(np.random.default_rng((view.seed, 0, 3)).integers(view.arms))
    return FidelityLook(0, arm, 1, (theta,), 0)


def following(view: View, last: FidelityLook, start: int) -> FidelityLook:
    """The turn that begins after `start` reports."""
    curves = view.curves.first(start)
    rng = np.random.default_rng((view.seed, start, 3))
    now = start == len(view.curves.reports)
    allowed = view.choosable if now else curves.count_by_arm < curves.epochs
    if not len(curves.visited):
        return FidelityLook(start, int(rng.choice(np.flatnonzero(allowed))), 1, last.thetas, 0)
    seen = observe(view, curves)
    thetas, fitted = last.thetas, last.fitted
    if start >= _REFIT * fitted:
        burn = _WARM if fitted else _BURN
        thetas = tuple(model.fit(seen, thetas[-1], rng, samples=_SAMPLES, burn=burn))
        fitted = start
    settings = [model.FabolasSetting.of(theta) for theta in thetas]
    arm, level = best_look(view, curves, settings, seen, allowed, rng)
    return FidelityLook(start, arm, level, thetas, fitted)


def observe(view: View, curves: Curves) -> model.FabolasData:
    """The losses at every level that an arm has reached."""
    steps = levels(view)
    epochs = np.minimum(steps * view.unit, curves.epochs)
    scaled = _SCALE.apply(curves, view.untrained)
    row, level = np.nonzero(curves.counts[:, None] >= epochs)
    return model.FabolasData(
        features=view.features[curves.visited[row]],
        basis=model.basis(steps, int(steps[-1]))[level],
        values=scaled.values[row, epochs[level] - 1],
    )


def best_look(
    view: View,
    curves: Curves,
    settings: list[model.FabolasSetting],
    seen: model.FabolasData,
    allowed: BoolArray,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Arm and level of the highest gain per cost."""
    arms = representers(view, settings, seen, allowed, rng)
    steps = levels(view)
    had = -(-curves.count_by_arm[arms] // view.unit)
    runnable = np.flatnonzero(allowed[arms])[:_LOOKED_AT]
    which, level = np.nonzero(steps > had[runnable, None])
    which = runnable[which]
    cost = (steps[level] - had[which]) * view.costs[arms[which]]
    bases = model.basis(steps, int(steps[-1]))[level]
    total = np.zeros(len(which))
    for setting in settings:
        pair = model.condition(setting, seen, view.features[arms])
        total += look_gains(pair, which, bases, rng)
    best = int(np.argmax(total / cost))
    return int(arms[which[best]]), int(steps[level[best]])


def representers(
    view: View,
    settings: list[model.FabolasSetting],
    seen: model.FabolasData,
    allowed: BoolArray,
    rng: np.random.Generator,
) -> IntArray:
    """The arms of the highest expected improvement at full training; one can be run."""
    everyone = rng.permutation(view.arms)
    mean, deviation = model.at_the_end(settings[-1], seen, view.features[everyone])
    order = np.argsort(-log_improvement(mean, deviation, float(mean.min())), kind="stable")
    chosen = everyone[order[:_REPRESENTERS]]
    if not allowed[chosen].any():
        runnable = everyone[order][allowed[everyone[order]]]
        chosen = np.append(chosen[:-1], runnable[0])
    return chosen


def look_gains(
    pair: model.FidelityPair, which: IntArray, bases: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Expected information about argmin F of looks at y = F + b H of arms `which`, [A]."""
    arms = len(pair.mean) // 2
    drawn = model.draw(pair, _DRAWS, rng)
    # Cov(F_m, y) for every look, [A, M], and Var y, [A]
    f_rows, h_rows = pair.covariance[which], pair.covariance[arms + which]
    rows = f_rows + bases[:, None] * h_rows
    here = np.arange(len(which))
    variance = rows[here, which] + bases * rows[here, arms + which] + pair.noise
    outcome = drawn[:, which] + bases * drawn[:, arms + which]
    outcome = outcome + np.sqrt(pair.noise) * rng.standard_normal(outcome.shape)
    looks = Outcomes(
        draws=outcome,
        mean=pair.mean[which] + bases * pair.mean[arms + which],
        deviation=np.sqrt(variance),
        gains=rows[:, :arms] / variance[:, None],
    )
    return information_gains(drawn[:, :arms], looks, _NODES)


def _key(view: View, start: int) -> bytes:
    """Identifies what a turn was chosen from."""
    return view.curves.first(start).digest(view.seed, view.unit, view.untrained)
