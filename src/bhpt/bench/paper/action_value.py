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

from bhpt.beliefs.interface import GaussianBelief
from bhpt.bench.baselines.truth import paper_or_true_belief
from bhpt.bench.catalogue import load
from bhpt.bench.figure_style import panels, style_of
from bhpt.bench.paper.plan import SYNTHETIC
from bhpt.bench.simulate import curves_seen, simulate
from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.bhpt import Bhpt, action_values, horizon_epochs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUDGET, _SEED, _EARLIEST = 50, 0, 5
_SHOWN = 24  # leading arms
_TOP, _OTHER = style_of("bhpt").color, style_of("bhpt-eps").color


@dataclass(frozen=True, eq=False)
class ActionValueMoment:
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
    seen: IntArray

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
    def worth(self) -> FloatArray:
        """μ¹ - Q, what it is worth to know an arm's end, [K]."""
        gained: FloatArray = self.mean[self.top] - self.value
        return gained

    @property
    def others_best(self) -> float:
        """μ², the lowest mean but that of ĉ."""
        return float(np.delete(self.mean, self.top).min())


def find_moment() -> ActionValueMoment:
    """The exploring step of one run at which both of the areas that make Q are largest."""
    task = load(SYNTHETIC, _SEED)
    belief = paper_or_true_belief(task.truth)
    run = simulate(task, Bhpt(belief), _BUDGET, _SEED)
    curves = curves_seen(task, run)
    moments = []
    for step, arm in enumerate(run.arms.tolist(), start=1):
        view = task.view(curves.first(step - 1), _BUDGET - step + 1, _SEED)
        moment = _moment(step, view, belief)
        if step >= _EARLIEST and moment.rival == arm:
            moments.append(moment)
    return max(moments, key=lambda m: min(m.worth[m.top], m.worth[m.rival]))


def _moment(step: int, view: View, belief: GaussianBelief) -> ActionValueMoment:
    mixture = belief.condition(view)
    horizon = horizon_epochs(view, view.horizon)
    ends = mixture.ends(horizon)
    values = action_values(mixture, horizon)
    return ActionValueMoment(
        step, ends.mean, np.sqrt(ends.variance), values, view.curves.count_by_arm
    )


def write_csv(moment: ActionValueMoment, path: Path) -> None:
    """The numbers of the figure."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["arm", "epochs_seen", "mean", "deviation", "value"])
        columns = (moment.seen, moment.mean, moment.deviation, moment.value)
        for arm, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            writer.writerow([arm, *row])


def draw(moment: ActionValueMoment) -> "Figure":
    """The two areas that make Q, the ends of the leading arms, and what each is worth."""
    figure, (left, middle, right) = panels(3, columns=3, width=4.9, height=4.6)
    _areas(left, moment)
    order = np.argsort(moment.mean)[:_SHOWN]
    _ends(middle, moment, order)
    _worths(right, moment, order)
    figure.suptitle(
        f"synthetic set {_SEED}, B = {_BUDGET}, step {moment.step}: arm {moment.rival} is run, "
        f"arm {moment.top} is predicted to end best",
        fontsize=11,
    )
    return figure


def _areas(axis: "Axes", moment: ActionValueMoment) -> None:
    top, rival = moment.top, moment.rival
    first, second = float(moment.mean[top]), moment.others_best
    wide = float(max(moment.deviation[top], moment.deviation[rival]))
    x = np.linspace(first - 2.5 * wide, float(moment.mean[rival]) + 2.5 * wide, 600)
    for arm, color, name in ((top, _TOP, "ĉ"), (rival, _OTHER, "a")):
        density = _density(x, moment.mean[arm], moment.deviation[arm])
        axis.plot(x, density, color=color, linewidth=2, label=f"predicted end of {name} = {arm}")
        inside = x > second if arm == top else x < first
        axis.fill_between(x, density, where=inside, color=color, alpha=0.3, linewidth=0)
    height = axis.get_ylim()[1]
    for value, name, side in ((first, "μ¹ ", "right"), (second, " μ²", "left")):
        axis.axvline(value, color="#444444", linestyle=":", linewidth=1)
        axis.text(value, 1.02 * height, name, ha=side, fontsize=10)
    axis.set_ylim(0, 1.25 * height)
    axis.set_xlabel("loss at the end")
    axis.set_ylabel("density")
    axis.set_title("what makes Q: the shaded tails", fontsize=10)
    axis.legend(frameon=False, fontsize=9)


def _ends(axis: "Axes", moment: ActionValueMoment, order: IntArray) -> None:
    place = np.arange(len(order))
    colors = _colors(moment, order)
    low, high = moment.mean - moment.deviation, moment.mean + moment.deviation
    axis.hlines(place, low[order], high[order], colors=colors, linewidth=1.2)
    axis.scatter(moment.mean[order], place, s=22, c=colors, zorder=3)
    axis.set_yticks(place, [str(arm) for arm in order], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("predicted end ± 1 sd")
    axis.set_ylabel(f"arm (the {len(order)} of the lowest predicted ends)")
    axis.set_title("the leading arms: ĉ blue, a red", fontsize=10)


def _worths(axis: "Axes", moment: ActionValueMoment, order: IntArray) -> None:
    place = np.arange(len(order))
    axis.barh(place, moment.worth[order], color=_colors(moment, order), height=0.7)
    axis.set_yticks(place, [str(arm) for arm in order], fontsize=8)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("μ¹ − Q: what knowing its end is worth")
    axis.set_title("the lowest Q is run", fontsize=10)


def _colors(moment: ActionValueMoment, order: IntArray) -> list[str]:
    return [
        _TOP if arm == moment.top else _OTHER if arm == moment.rival else "#8a8a8a"
        for arm in order.tolist()
    ]


def _density(x: FloatArray, mean: float, deviation: float) -> FloatArray:
    z = (x - mean) / deviation
    curve: FloatArray = np.exp(-0.5 * z**2) / (deviation * np.sqrt(2 * np.pi))
    return curve
