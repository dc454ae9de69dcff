"""The action value drawn for one step of a real run of BHPT on the synthetic task.

Notation:
    ν_a ~ N(μ_a, σ_a²) predicted ends, ĉ the arm of the lowest mean, μ¹ and μ² the two lowest means
    Q[a] = μ¹ - E(μ¹ - ν_a)⁺ for a ≠ ĉ,   Q[ĉ] = μ¹ - E(ν_ĉ - μ²)⁺
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bhpt.bench.catalogue import load
from bhpt.bench.drawing import look, panels
from bhpt.bench.paper.plan import SYNTHETIC
from bhpt.bench.simulate import simulate
from bhpt.domain import Curves, FloatArray, View
from bhpt.policies.bhpt import Bhpt, action_values, horizon_epochs
from bhpt.policies.registry import paper_belief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUDGET, _SEED, _EARLIEST = 50, 0, 12
_SHOWN = 24  # arms on the right-hand side
_TOP, _OTHER = look("bhpt").color, look("bhpt-eps").color


@dataclass(frozen=True, eq=False)
class Moment:
    """All predicted ends and values at one step.

    Attributes:
        step: Which step, counted from 1.
        mean: μ, [K].
        deviation: σ, [K].
        value: Q, [K].
        seen: Observed epochs of each arm, [K].
    """

    step: int
    mean: FloatArray
    deviation: FloatArray
    value: FloatArray
    seen: "np.ndarray[tuple[int], np.dtype[np.int64]]"

    @property
    def top(self) -> int:
        """ĉ."""
        return int(self.mean.argmin())

    @property
    def rival(self) -> int:
        """The best Q among the others."""
        others = self.value.copy()
        others[self.top] = np.inf
        return int(others.argmin())

    @property
    def others_best(self) -> float:
        """μ², the lowest mean but that of ĉ."""
        return float(np.delete(self.mean, self.top).min())


def find_moment() -> Moment:
    """The first step after the start at which an arm other than the predicted best is run."""
    task = load(SYNTHETIC, _SEED)
    belief = paper_belief(task.truth)
    run = simulate(task, Bhpt(belief), _BUDGET, _SEED)
    curves = Curves.empty(task.arms, task.epochs)
    found = None
    for step, arm in enumerate(run.arms.tolist(), start=1):
        view = View(
            curves=curves,
            unit=task.unit,
            left=float(_BUDGET - step + 1),
            costs=np.ones(task.arms),
            features=task.features,
            untrained=task.untrained,
            seed=_SEED,
        )
        if step >= _EARLIEST:
            found = _moment(step, view)
            if found.top != arm:
                break
        at = int(curves.count_by_arm[arm])
        curves = curves.extend(arm, task.losses[arm, at : at + task.unit])
    if found is None:
        raise AssertionError(f"a run of {_BUDGET} units has no step {_EARLIEST}")
    return found


def _moment(step: int, view: View) -> Moment:
    mixture = paper_belief(load(SYNTHETIC, _SEED).truth).condition(view)
    horizon = horizon_epochs(view, view.horizon)
    ends = mixture.ends(horizon)
    values = action_values(mixture, horizon)
    return Moment(step, ends.mean, np.sqrt(ends.variance), values, view.curves.count_by_arm)


def write_csv(moment: Moment, path: Path) -> None:
    """The numbers of the figure."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["arm", "epochs_seen", "mean", "deviation", "value"])
        columns = (moment.seen, moment.mean, moment.deviation, moment.value)
        for arm, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            writer.writerow([arm, *row])


def draw(moment: Moment) -> "Figure":
    """Left: the two areas that make Q. Right: the ends and values of the leading arms."""
    figure, (left, right) = panels(2, columns=2, width=6.2, height=4.2)
    _areas(left, moment)
    _values(right, moment)
    figure.suptitle(
        f"synthetic set {_SEED}, B = {_BUDGET}, step {moment.step}: arm {moment.rival} is run, "
        f"arm {moment.top} is predicted to end best",
        fontsize=10,
    )
    return figure


def _areas(axis: "Axes", moment: Moment) -> None:
    top, rival = moment.top, moment.rival
    first, second = float(moment.mean[top]), moment.others_best
    reach = 4 * max(moment.deviation[top], moment.deviation[rival])
    x = np.linspace(min(first, moment.mean[rival]) - reach, max(second, first) + reach, 600)
    for arm, color, name in ((top, _TOP, "ĉ"), (rival, _OTHER, "a")):
        density = _density(x, moment.mean[arm], moment.deviation[arm])
        axis.plot(x, density, color=color, linewidth=2, label=f"predicted end of {name} = {arm}")
        inside = x > second if arm == top else x < first
        axis.fill_between(x, density, where=inside, color=color, alpha=0.3, linewidth=0)
    height = axis.get_ylim()[1]
    for value, name in ((first, "μ¹"), (second, "μ²")):
        axis.axvline(value, color="#444444", linestyle=":", linewidth=1)
        axis.annotate(
            name, (value, height), xytext=(3, -10), textcoords="offset points", fontsize=10
        )
    axis.set_xlabel("loss at the end")
    axis.set_ylabel("density")
    axis.set_title("what makes Q: the shaded tails", fontsize=10)
    axis.legend(frameon=False, fontsize=9)


def _values(axis: "Axes", moment: Moment) -> None:
    order = np.argsort(moment.mean)[:_SHOWN]
    place = np.arange(len(order))
    axis.errorbar(
        place,
        moment.mean[order],
        yerr=moment.deviation[order],
        fmt="o",
        color="#8a8a8a",
        markersize=4,
        elinewidth=1,
        label="predicted end ± 1 sd",
    )
    axis.plot(place, moment.value[order], "_", color="#111111", markersize=11, label="Q")
    for arm, color, name in ((moment.top, _TOP, "ĉ"), (moment.rival, _OTHER, "lowest other Q")):
        at = np.flatnonzero(order == arm)
        if at.size:
            axis.plot(at, moment.mean[arm], "o", color=color, markersize=8, label=name)
    axis.set_xticks(place, [str(arm) for arm in order], fontsize=7)
    axis.set_xlabel(f"arm (the {len(order)} of the lowest predicted ends)")
    axis.set_ylabel("loss")
    axis.set_title("predicted ends and action values", fontsize=10)
    axis.legend(frameon=False, fontsize=9)


def _density(x: FloatArray, mean: float, deviation: float) -> FloatArray:
    z = (x - mean) / deviation
    curve: FloatArray = np.exp(-0.5 * z**2) / (deviation * np.sqrt(2 * np.pi))
    return curve
