"""The figures: from the data of the charts to drawings, and from there to a library's figure."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

import numpy as np

from bhpt.charts.fans import Fans
from bhpt.charts.more_budget import more_budget
from bhpt.charts.parameters import parameters_of
from bhpt.charts.units import STATUSES, units_of
from bhpt.domain import FloatArray, Misuse
from bhpt.plot.drawing import COLORS, GREY, Band, Bars, Drawing, Line, Panel, Points
from bhpt.plot.sources import (
    StudySource,
    name_of,
    past_decision,
    predicted_fans,
    state_of,
)
from bhpt.reports.prediction import predict_study
from bhpt.study import State

Backend = Literal["matplotlib", "plotly"]

_EXTRAS = {"matplotlib": "plots", "plotly": "dashboard"}
_SHOWN = 8  # arms with a colour of their own
_FANS = 5  # arms whose continuation is drawn
_AXES = 10  # hyper-parameters in one figure


def progress(study: StudySource, *, backend: Backend = "matplotlib") -> Any:  # noqa: ANN401  # a figure of either library
    """The best value so far and what is left of the budget, over time.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly.

    Raises:
        Misuse: There is no such study, or the library is not installed.
    """
    state = state_of(study)
    units = units_of(state)
    settled = units.settled
    clock = [0.0, *units.ended[settled].tolist()]
    amount = state.ledger.budget.amount
    left = [amount, *(amount - units.used[settled]).tolist()]
    values = [np.nan, *units.best[settled].tolist()]
    best = Line(clock, values, "best so far", COLORS[2], 2, is_step=True)
    burned = Line(clock, left, "left of the budget", COLORS[0], 2, is_step=True)
    upper = Panel((best, *_final(state, clock)), "seconds", state.plan.objective.metric, height=2)
    area = Band(clock, [0.0] * len(left), left, COLORS[0])
    lower = Panel((area, burned), "seconds", "budget left")
    return _drawn(Drawing("Progress", (upper, lower)), backend)


def curves(
    study: StudySource, *, fans: bool = True, log: bool = False, backend: Backend = "matplotlib"
) -> Any:  # noqa: ANN401  # a figure of either library
    """Every learning curve, and how the most promising ones are predicted to go on.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        fans: Whether to draw predicted continuations: 50% and 90% of what may come.
        log: Whether the values are on a logarithmic scale.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly.
    """
    state = state_of(study)
    found = predicted_fans(state) if fans else None
    promising = [] if found is None else found.arms[:_FANS].tolist()
    best = _best_arms(state)[:_SHOWN]
    special = list(dict.fromkeys([*best, *promising]))
    colors = {arm: COLORS[place % len(COLORS)] for place, arm in enumerate(special)}
    series: list[Line | Band] = [_others(state, set(special))]
    if found is not None:
        series += [one for arm in promising for one in _fan(found, arm, colors[arm])]
    series += [_curve(state, arm, colors[arm]) for arm in special]
    scale: Literal["log", "linear"] = "log" if log else "linear"
    panel = Panel(tuple(series), "epoch", state.plan.objective.metric, y_scale=scale)
    return _drawn(Drawing("Learning curves", (panel,)), backend)


def timeline(study: StudySource, *, backend: Backend = "matplotlib") -> Any:  # noqa: ANN401  # a figure of either library
    """Which worker was busy when: first units, units of arms that go on, failures.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly.
    """
    state = state_of(study)
    units = units_of(state)
    ended = np.where(np.isnan(units.ended), state.clock, units.ended)
    failed = units.status == STATUSES.index("failed")
    kinds = {
        "first unit of an arm": (units.done == 0) & ~failed,
        "an arm goes on": (units.done > 0) & ~failed,
        "failed or stopped": failed,
    }
    lines = []
    for color, (name, chosen) in zip((COLORS[0], COLORS[2], "#c0392b"), kinds.items(), strict=True):
        count = int(chosen.sum())
        x = np.stack([units.started[chosen], ended[chosen], np.full(count, np.nan)], axis=1)
        y = np.stack([units.lane[chosen] + 1.0] * 2 + [np.full(count, np.nan)], axis=1)
        lines.append(Line(x.ravel().tolist(), y.ravel().tolist(), name, color, 8))
    return _drawn(Drawing("Timeline", (Panel(tuple(lines), "seconds", "worker"),)), backend)


def decision(
    study: StudySource, attempt: int | None = None, *, backend: Backend = "matplotlib"
) -> Any:  # noqa: ANN401  # a figure of either library
    """What was predicted of every arm when a unit was decided on, and which was chosen.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        attempt: Which decision; the last one if None.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly, with the reason as its title.

    Raises:
        Misuse: There is no such decision.
    """
    found = past_decision(study, attempt)
    known = np.flatnonzero(np.isfinite(found.end))
    ranks = {int(place): rank + 1.0 for rank, place in enumerate(known)}
    groups = (
        ("other arms", COLORS[0], [p for p in ranks if found.arms[p] != found.arm]),
        (f"arm {found.arm}, chosen", "#c0392b", [p for p in ranks if found.arms[p] == found.arm]),
    )
    points = []
    for name, color, places in groups:
        spread = np.nan_to_num(found.spread[places]).tolist()
        texts = [f"arm {found.arms[place]}" for place in places]
        x, y = [ranks[place] for place in places], found.end[places].tolist()
        points.append(Points(x, y, spread, spread, name, color, texts=texts))
    metric = state_of(study).plan.objective.metric
    panel = Panel(tuple(points), "arms, the best predicted end first", f"predicted end ({metric})")
    return _drawn(Drawing(found.why, (panel,)), backend)


def importance(study: StudySource, *, backend: Backend = "matplotlib") -> Any:  # noqa: ANN401  # a figure of either library
    """How much of the differences between arms each hyper-parameter explains alone.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly.
    """
    state = state_of(study)
    found = parameters_of(state, predicted_fans(state))
    known = [
        (one.name, float(share))
        for one, share in zip(found.described, found.importance, strict=True)
        if np.isfinite(share)
    ]
    bars = Bars([name for name, _ in known], [share for _, share in known])
    return _drawn(Drawing("What matters", (Panel((bars,), "explained alone", ""),)), backend)


def slices(study: StudySource, name: str, *, backend: Backend = "matplotlib") -> Any:  # noqa: ANN401  # a figure of either library
    """The predicted end of every arm by the value of one hyper-parameter.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        name: The hyper-parameter.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly.

    Raises:
        Misuse: There is no such hyper-parameter.
    """
    state = state_of(study)
    found = parameters_of(state, predicted_fans(state))
    described = next((one for one in found.described if one.name == name), None)
    if described is None:
        known = ", ".join(one.name for one in found.described) or "none"
        raise Misuse(f"the study has no hyper-parameter {name!r} that changes: it has {known}")
    rows = [
        (state.configs[arm][name], end)
        for arm, end in zip(found.arms.tolist(), found.ends.tolist(), strict=True)
        if name in state.configs[arm]
    ]
    x: list[float | str] = [str(value) if described.choices else float(value) for value, _ in rows]
    scale: Literal["category", "log", "linear"] = (
        "category" if described.choices else "log" if described.log else "linear"
    )
    points = Points(x, [end for _, end in rows])
    metric = f"predicted end ({state.plan.objective.metric})"
    return _drawn(Drawing(name, (Panel((points,), name, metric, x_scale=scale),)), backend)


def parallel(study: StudySource, *, backend: Backend = "matplotlib") -> Any:  # noqa: ANN401  # a figure of either library
    """The settings of all arms, a line for each; the best fifth stands out.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly; hyper-parameters are on their declared scales.
    """
    state = state_of(study)
    found = parameters_of(state, predicted_fans(state))
    places = found.positions[:_AXES]
    good = max(1, len(found.arms) // 5)
    lines = (
        _parallel(places[:, good:], "other arms", GREY, 0.35),
        _parallel(places[:, :good], "the best fifth", COLORS[0], 0.9),
    )
    ticks = tuple((float(at), one.name) for at, one in enumerate(found.described[:_AXES]))
    panel = Panel(lines, "", "part of the range", ticks=ticks)
    return _drawn(Drawing("Hyper-parameters", (panel,)), backend)


def forecast(study: StudySource, *, backend: Backend = "matplotlib") -> Any:  # noqa: ANN401  # a figure of either library
    """What more budget is expected to buy.

    Args:
        study: Its file or address, a `Study`, a `Result` or a `State`.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly, with the advice as its title.

    Raises:
        Misuse: Nothing finite was observed yet.
    """
    state = state_of(study)
    found = more_budget(state)
    names = [
        f"+ {one.text}" if one.more else f"the {found.left_text} left" for one in found.purchases
    ]
    expected = [one.expected for one in found.purchases]
    below = [0.0, *(one.expected - one.low for one in found.purchases)]
    above = [0.0, *(one.high - one.expected for one in found.purchases)]
    x, y = ["now", *names], [found.best, *expected]
    series = (Line(x, y, color=COLORS[3]), Points(x, y, below, above, "90% interval", COLORS[3]))
    panel = Panel(series, "", f"best {state.plan.objective.metric}", x_scale="category")
    return _drawn(Drawing(found.advice, (panel,)), backend)


def compare(*studies: StudySource, backend: Backend = "matplotlib") -> Any:  # noqa: ANN401  # a figure of either library
    """The best so far of several studies, by part of their budgets.

    Args:
        studies: Their files or addresses, or what `tune` or `Study` gave.
        backend: Which library draws it.

    Returns:
        A figure of matplotlib or plotly.

    Raises:
        Misuse: None is named.
    """
    if not studies:
        raise Misuse("name at least one study to draw")
    lines = []
    for place, study in enumerate(studies):
        state = state_of(study)
        units = units_of(state)
        part = units.used[units.settled] / state.ledger.budget.amount
        best, color = units.best[units.settled].tolist(), COLORS[place % len(COLORS)]
        lines.append(Line(part.tolist(), best, name_of(study), color, 2, is_step=True))
    panel = Panel(tuple(lines), "part of the budget", "best so far")
    return _drawn(Drawing("Side by side", (panel,)), backend)


def _drawn(drawing: Drawing, backend: Backend) -> Any:  # noqa: ANN401  # a figure of either library
    """A drawing as a figure.

    Raises:
        Misuse: The library is not known or not installed.
    """
    if backend not in _EXTRAS:
        raise Misuse(f"backend {backend!r}: use 'matplotlib' or 'plotly'")
    try:
        import_module(backend)
    except ImportError:
        extra = f"bhpt[{_EXTRAS[backend]}]"
        raise Misuse(f"{backend} is not installed: pip install '{extra}'") from None
    draw: Callable[[Drawing], Any] = import_module(f"bhpt.plot.with_{backend}").draw
    return draw(drawing)


def _final(state: State, clock: list[float]) -> tuple[Points, ...]:
    """Where the study is predicted to end, if that is known."""
    predicted = predict_study(state)
    if predicted is None or not state.ledger.used:
        return ()
    final = predicted.final.shown(state.plan.objective)
    at = clock[-1] * state.ledger.budget.amount / state.ledger.used
    below, above = final.middle - final.low, final.high - final.middle
    return (Points([at], [final.middle], [below], [above], "predicted at the end", COLORS[3], 7),)


def _best_arms(state: State) -> list[int]:
    """Arms with a finite value, the best first."""
    if state.curves is None:
        return []
    best = state.curves.best_by_row
    order = np.argsort(best, kind="stable")[: int(np.isfinite(best).sum())]
    arms: list[int] = state.curves.visited[order].tolist()
    return arms


def _values(state: State, arm: int) -> list[float]:
    """The values of the metric of an arm; NaN where they are not finite."""
    losses = np.zeros(0) if state.curves is None else state.curves.of_arm(arm)
    finite = np.where(np.isfinite(losses), losses, np.nan)
    values: list[float] = (finite if state.plan.objective.mode == "min" else -finite).tolist()
    return values


def _others(state: State, special: set[int]) -> Line:
    """All other curves as one broken line."""
    visited = [] if state.curves is None else state.curves.visited.tolist()
    x: list[float | str] = []
    y: list[float] = []
    others = [arm for arm in visited if arm not in special]
    for arm in others:
        values = _values(state, arm)
        x += [*range(1, len(values) + 1), np.nan]
        y += [*values, np.nan]
    name = f"{len(others)} other arms" if others else ""
    return Line(x, y, name, GREY, 0.8, 0.5, has_points=True)


def _curve(state: State, arm: int, color: str) -> Line:
    values = _values(state, arm)
    epochs = [float(epoch) for epoch in range(1, len(values) + 1)]
    return Line(epochs, values, f"arm {arm}", color, 1.8, has_points=True)


def _fan(fans: Fans, arm: int, color: str) -> tuple[Band | Line, ...]:
    """The predicted continuation of an arm: 90%, 50% and the middle."""
    place = int(np.flatnonzero(fans.arms == arm)[0])
    epochs = [float(epoch) for epoch in fans.epochs[place]]
    low, lower, middle, upper, high = fans.quantiles[place].T.tolist()
    return (
        Band(epochs, low, high, color, 0.12),
        Band(epochs, lower, upper, color, 0.18),
        Line(epochs, middle, "", color, 1.2, is_dotted=True),
    )


def _parallel(places: FloatArray, name: str, color: str, alpha: float) -> Line:
    """Settings of some arms as one broken line, from their positions, [D, V]."""
    axes, arms = places.shape
    ends = np.full((1, arms), np.nan)
    x = np.concatenate([np.tile(np.arange(axes)[:, None], (1, arms)), ends]).T.ravel()
    y = np.concatenate([places, ends]).T.ravel()
    return Line(x.tolist(), y.tolist(), name if arms else "", color, 1.0, alpha)
