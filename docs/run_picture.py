"""Draw a run of BHPT with shapes unfolding: what is observed, foreseen and decided at three steps.

python docs/run_picture.py docs/images/run.svg
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bhpt.beliefs.shapes.or_one_decay import ShapesOrOneDecay
from bhpt.bench.catalogue import load
from bhpt.bench.figure_style import write_svg
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, Memory, View
from bhpt.policies.interface import Decision
from bhpt.policies.registry import make_policy, shapes_belief

TASK, BUDGET, SEED = "arch2_cifar10@6", 24, 1
MOMENTS = (4, 12, 20)  # units spent
COLOURS = {"resnet": "#1f5fbf", "alexnet": "#e08a1e"}


def draw(out: Path) -> None:
    """Play the run, and draw a column for each moment."""
    task, belief, memory = load(TASK, SEED), shapes_belief(), Memory()
    policy = make_policy("bhpt-shapes")
    curves = Curves.empty(task.arms, task.epochs)
    figure = Figure(figsize=(12.5, 6.6), layout="constrained")
    axes = figure.subplots(2, len(MOMENTS), height_ratios=(3, 1.2))
    for spent in range(BUDGET):
        view = task.view(curves, BUDGET - spent, SEED, memory)
        decision = policy.decide(view)
        assert decision is not None
        if spent in MOMENTS:
            column = MOMENTS.index(spent)
            draw_curves(axes[0, column], task, view, belief, decision.arm)
            draw_values(axes[1, column], task, view, decision)
        curves = curves.extend(decision.arm, task.next_unit(curves, decision.arm))
    for family, colour in COLOURS.items():
        axes[0, 0].plot([], [], color=colour, label=family)
    axes[0, 0].plot([], [], "k-", linewidth=3, label="runs next")
    axes[0, 0].legend(frameon=False, loc="upper right")
    write_svg(figure, out)
    figure.savefig(out.with_suffix(".png"), dpi=90)


def draw_curves(axis: Axes, task: Task, view: View, belief: ShapesOrOneDecay, arm: int) -> None:
    """Observed curves and where each is predicted to end, with 90% intervals."""
    ends = belief.predict(view)
    low, middle, high = ends.quantiles((0.05, 0.5, 0.95))
    rng = np.random.default_rng(0)
    for other in view.curves.visited:
        colour = COLOURS[task.groups[other]]
        seen = view.curves.of_arm(int(other))
        epochs = np.arange(1, len(seen) + 1)
        chosen = other == arm
        axis.plot(epochs, seen, color=colour, linewidth=3 if chosen else 1.2)
        at = task.epochs + 1.5 + 5 * rng.random()
        axis.plot([at, at], [low[other], high[other]], color=colour, alpha=0.35)
        axis.plot(at, middle[other], "o", color=colour, markersize=7 if chosen else 3.5)
        axis.plot(at, task.losses[other].min(), "_", color="black", markersize=6)
    new = arm not in view.curves.visited
    spent, arms = len(view.curves.reports), len(view.curves.visited)
    axis.set_title(
        f"{spent} of {BUDGET} units spent, {arms} arms seen\n"
        f"next: {'a new ' if new else ''}{task.groups[arm]}"
    )
    axis.axvline(task.epochs + 0.5, color="#bbbbbb", linewidth=0.8)
    axis.set_ylim(0.08, 0.75)
    axis.set_xlabel("epoch | predicted end, 90% (—: what it would be)")
    axis.set_ylabel("error")
    axis.spines[["top", "right"]].set_visible(False)


def draw_values(axis: Axes, task: Task, view: View, decision: Decision) -> None:
    """Q_u of every arm as the decision has it, the lowest first."""
    arm, values = decision.arm, decision.explanation.value
    order = np.argsort(values)
    seen = np.isin(order, view.curves.visited)
    colours = [
        COLOURS[task.groups[k]] if s else "#d5d5d5" for k, s in zip(order, seen, strict=True)
    ]
    axis.bar(np.arange(len(order)), values[order], color=colours)
    axis.plot(int(np.flatnonzero(order == arm)[0]), values[arm], "kv", markersize=7)
    span = values.max() - values.min()
    axis.set_ylim(values.min() - 0.3 * span, values.max() + 0.1 * span)
    axis.set_xlabel("arms by Q_u (grey: not tried yet; ▼ runs next)")
    axis.set_ylabel("Q_u")
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Read the arguments and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    draw(parser.parse_args().out)


if __name__ == "__main__":
    main()
