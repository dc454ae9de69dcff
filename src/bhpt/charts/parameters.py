"""What the arms of a study say about its hyper-parameters: which matter, which ranges look wrong.

An arm is judged by where it is predicted to end, or by the best that it has reached where that is
not predicted. How much a hyper-parameter matters is the share of the differences between arms that
it explains alone: the ranks of the arms' ends are predicted from its value with a kernel smoother,
each arm from all the others, and compared with predicting their mean. Interactions are not seen.

Notation:
    V  arms, D  hyper-parameters, H  widths of the kernel.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom, rankdata

from bhpt.charts.fans import PROBABILITIES, Fans
from bhpt.domain import BoolArray, FloatArray, IntArray
from bhpt.spaces.parameter_axes import ParameterAxis, describe, positions
from bhpt.study import State

_LEAST = 8  # arms below which nothing is inferred
_MOST = 1000  # arms that are compared: the best ones
_WIDTHS = (0.05, 0.1, 0.2, 0.4)  # of the kernel, as parts of the range
_TOP = 0.15  # part of the arms that counts as good
_FEWEST = 5  # good arms
_EDGE = 0.2  # part of a range that counts as its end: more than the good part of evenly spread arms
_INSIDE = 0.1  # part of a range at its end where good arms are not inside of it
_MIDDLE = 0.3  # part of a range into which all good arms fall if it could be narrower
_CHANCE = 0.02  # of a hint if good arms were like all others
_WIDER = 0.25  # part of a range by which it is proposed to be extended
_LINEAR = 100.0  # max/min of a linear range that a logarithm may suit better


@dataclass(frozen=True, slots=True)
class RangeHint:
    """A range that looks wrong.

    Attributes:
        name: The hyper-parameter.
        kind: "low edge", "high edge", "too wide", "scale" or "choice".
        text: What was seen and what to try, for a person.
        chance: How likely this would be if good arms were like all others.
    """

    name: str
    kind: str
    text: str
    chance: float


@dataclass(frozen=True, eq=False)
class Parameters:
    """The hyper-parameters of a study.

    Attributes:
        described: Each of them, the most important first.
        importance: Share of the differences between arms that each explains alone, NaN where too
            little is known, [D].
        hints: Ranges that look wrong, the surest first.
        arms: The arms compared, [V].
        ends: Where each is predicted to end, as values of the metric, [V].
        positions: Where each lies on each hyper-parameter, NaN where it has none, [D, V].
    """

    described: tuple[ParameterAxis, ...]
    importance: FloatArray
    hints: tuple[RangeHint, ...]
    arms: IntArray
    ends: FloatArray
    positions: FloatArray


def parameters_of(state: State, fans: Fans | None) -> Parameters:
    """What the tried arms say about the hyper-parameters.

    Args:
        state: The study.
        fans: What its predictor says of the arms, None if nothing is known.
    """
    arms, losses = _judged(state, fans)
    configs = [state.configs[arm] for arm in arms.tolist()]
    described = describe(state.plan.search.space, configs)
    where = positions(described, configs)
    importance = explained(where, [bool(one.choices) for one in described], losses)
    order = np.argsort(-np.nan_to_num(importance, nan=-1.0), kind="stable")
    hints = [
        hint for one, row in zip(described, where, strict=True) for hint in _hints(one, row, losses)
    ]
    return Parameters(
        described=tuple(described[place] for place in order.tolist()),
        importance=importance[order],
        hints=tuple(sorted(hints, key=lambda hint: hint.chance)),
        arms=arms,
        ends=losses if state.plan.objective.mode == "min" else -losses,
        positions=where[order],
    )


def explained(where: FloatArray, is_choice: Sequence[bool], losses: FloatArray) -> FloatArray:
    """Share of the differences between the ranks of losses that each row explains alone, [D].

    Args:
        where: Positions in [0, 1], NaN where an arm has no value, [D, V].
        is_choice: Whether a row holds choices, which are alike or not and never near, [D].
        losses: Finite losses, [V].

    Returns:
        Numbers in [0, 1]; NaN where fewer than eight arms have a value, or no two of theirs or of
        their losses differ.
    """
    rows = zip(where, is_choice, strict=True)
    return np.array([_explained(row, choice, losses) for row, choice in rows], float)


def _explained(row: FloatArray, is_choice: bool, losses: FloatArray) -> float:
    known = np.isfinite(row)
    if known.sum() < _LEAST or np.ptp(row[known]) == 0 or np.ptp(losses[known]) == 0:
        return math.nan
    ranks = rankdata(losses[known]) / known.sum()
    apart = np.abs(row[known][:, None] - row[known][None, :])
    widths = (1e-6,) if is_choice else _WIDTHS
    return max(
        0.0, *(_left_out_share(np.exp(-0.5 * (apart / width) ** 2), ranks) for width in widths)
    )


def _left_out_share(weights: FloatArray, values: FloatArray) -> float:
    """1 - mean squared error of each value predicted from the others, as a part of the mean's."""
    np.fill_diagonal(weights, 0.0)
    total = weights.sum(axis=1)
    count = len(values)
    others = (values.sum() - values) / (count - 1)
    near = np.where(total > 1e-9, weights @ values / np.maximum(total, 1e-9), others)
    return float(1 - ((values - near) ** 2).sum() / ((values - others) ** 2).sum())


def _judged(state: State, fans: Fans | None) -> tuple[IntArray, FloatArray]:
    """The best arms with a finite loss and the loss that each is judged by, [V] and [V]."""
    if state.curves is None:
        return np.zeros(0, np.int64), np.zeros(0)
    judged = state.curves.best_by_arm.copy()
    if fans is not None:
        middle = fans.quantiles[:, -1, len(PROBABILITIES) // 2]
        judged[fans.arms] = middle if state.plan.objective.mode == "min" else -middle
    visited = state.curves.visited[np.isfinite(judged[state.curves.visited])]
    order = np.argsort(judged[visited], kind="stable")[:_MOST]
    arms: IntArray = visited[order]
    return arms, judged[arms]


def _hints(described: ParameterAxis, row: FloatArray, losses: FloatArray) -> list[RangeHint]:
    """What the good arms say about one range."""
    known = np.isfinite(row)
    where, count = row[known], int(known.sum())
    good = max(_FEWEST, math.ceil(_TOP * count))
    if count < 3 * _FEWEST:
        return []
    top = losses[known] <= np.sort(losses[known])[good - 1]  # arms that are level count alike
    if top.sum() > count / 2:
        return []
    if described.choices:
        return _choice_hints(described, where, top)
    if not described.declared:
        return []
    return _scale_hint(described, where, top) or [
        *_edge_hints(described, where, top),
        *_width_hint(described, where, top),
    ]


def _edge_hints(described: ParameterAxis, where: FloatArray, top: BoolArray) -> list[RangeHint]:
    """Good arms at one end of the range: better ones may lie beyond it."""
    found = []
    for kind, inside, beyond in (
        ("low edge", where <= _EDGE, -_WIDER),
        ("high edge", where >= 1 - _EDGE, 1 + _WIDER),
    ):
        there = int((inside & top).sum())
        chance = _chance(inside, top)
        further = _rounded(described, beyond)
        is_outside = further < described.low or further > described.high
        if chance < _CHANCE and 2 * there >= top.sum() and is_outside:
            which, end = ("lower", described.low) if beyond < 0 else ("upper", described.high)
            text = (
                f"{there} of the {int(top.sum())} best arms lie at the {which} end of its range "
                f"({_short(end)}): better ones may lie beyond, try {_short(further)} as its end "
                "if that makes sense"
            )
            found.append(RangeHint(described.name, kind, text, chance))
    return found


def _width_hint(described: ParameterAxis, where: FloatArray, top: BoolArray) -> list[RangeHint]:
    """All good arms close together inside of the range: most of it is wasted."""
    low, high = float(where[top].min()), float(where[top].max())
    if high - low > _MIDDLE or low < _INSIDE or high > 1 - _INSIDE:
        return []
    margin = 0.5 * (high - low) + 0.05
    inside = (where >= low) & (where <= high)
    chance = _chance(inside, top)
    if chance >= _CHANCE:
        return []
    first, last = max(low - margin, 0.0), min(high + margin, 1.0)
    text = (
        f"all of the {int(top.sum())} best arms lie between {_short(described.value_at(low))} and "
        f"{_short(described.value_at(high))}: a range from {_short(_rounded(described, first))} to "
        f"{_short(_rounded(described, last))} would waste less"
    )
    return [RangeHint(described.name, "too wide", text, chance)]


def _scale_hint(described: ParameterAxis, where: FloatArray, top: BoolArray) -> list[RangeHint]:
    """Good arms at the low end of a long linear range: it is sampled badly there."""
    if described.log or described.low <= 0 or described.high / described.low < _LINEAR:
        return []
    inside = where <= _EDGE
    chance = _chance(inside, top)
    if chance >= _CHANCE or 2 * int((inside & top).sum()) < top.sum():
        return []
    text = (
        f"the best arms lie near {_short(described.low)}, and the range reaches "
        f'{_short(described.high)}: declare it with "log", so that small values are tried as well'
    )
    return [RangeHint(described.name, "scale", text, chance)]


def _choice_hints(described: ParameterAxis, where: FloatArray, top: BoolArray) -> list[RangeHint]:
    """Choices that are never among the good arms."""
    steps = max(len(described.choices) - 1, 1)
    found = []
    for place, choice in enumerate(described.choices):
        inside = np.rint(where * steps) == place
        chance = float(hypergeom.cdf(0, len(where), int(inside.sum()), int(top.sum())))
        if not (inside & top).any() and chance < _CHANCE:
            text = (
                f"none of the {int(top.sum())} best arms has {choice!s:.40}, "
                f"of {int(inside.sum())} that were tried: it could be left out"
            )
            found.append(RangeHint(described.name, "choice", text, chance))
    return found


def _chance(inside: BoolArray, top: BoolArray) -> float:
    """Of at least as many good arms inside, if good arms were drawn from all of them."""
    there = int((inside & top).sum())
    return float(hypergeom.sf(there - 1, len(top), int(inside.sum()), int(top.sum())))


def _rounded(described: ParameterAxis, position: float) -> float:
    """The value at a position, to two digits; a whole number if the range holds only those."""
    value = described.value_at(position)
    if described.low >= 0:
        value = max(value, 0.0)
    return float(round(value)) if described.whole else float(f"{value:.2g}")


def _short(value: float) -> str:
    return f"{value:.4g}"
