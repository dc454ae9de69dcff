"""What a page is sent of a study, as JSON-ready values: all of it once, then only what changed."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bhpt.charts.fans import Fans
from bhpt.charts.plain import plain
from bhpt.charts.units import changed_units
from bhpt.dashboard.feed import Prediction, Scene, StudyFeed
from bhpt.study import State
from bhpt.views.formatting import go_on_command

Message = dict[str, Any]

_POINTS = 500  # of a line beside others
_FANS = 24  # that are sent by default: of the arms in flight and those with the best predicted ends


def whole(feed: StudyFeed, scene: Scene) -> Message:
    """Everything of a study that its page draws at first."""
    return {
        "name": feed.name,
        "address": str(feed.address),
        **_moment(scene),
        "units": plain(scene.units),
        "arms": plain(scene.arms),
    }


def change(before: State, scene: Scene) -> Message:
    """What changed of a study since the last message to a page."""
    attempts = changed_units(before, scene.state)
    touched = np.unique(scene.units.arm[attempts])
    return {
        **_moment(scene),
        "units": plain(scene.units.of(attempts)),
        "arms": plain(scene.arms.of(touched)),
    }


def compared(scenes: Sequence[tuple[StudyFeed, Scene]]) -> list[Message]:
    """What is shown of several studies side by side: where each stands, and how its best came."""
    return [_line(feed, scene) for feed, scene in scenes]


def _line(feed: StudyFeed, scene: Scene) -> Message:
    units = scene.units
    settled = units.settled
    if len(settled) > _POINTS:
        settled = settled[np.linspace(0, len(settled) - 1, _POINTS).round().astype(int)]
    return {
        "name": feed.name,
        "phase_text": scene.phase_text,
        "overview": plain(scene.overview),
        "used": plain(units.used[settled]),
        "best": plain(units.best[settled]),
    }


def forecast(feed: StudyFeed) -> Message:
    """What more budget would buy, and what to type to buy it; nothing where it buys nothing.

    Raises:
        Misuse: Nothing finite was observed yet.
    """
    found = feed.more_budget()
    plan, command = feed.scene.state.plan, ""
    if found.advised:
        command = go_on_command(str(feed.address), plan, found.advised)
    return {**plain(found), "command": command}


def prediction(found: Prediction, state: State) -> Message:
    """The prediction, with the fans that are drawn by default."""
    fans = None if found.fans is None else _drawn_fans(found.fans, state)
    return {
        "attempts": found.attempts,
        "final": plain(found.final),
        "fans": plain(fans),
        "ends": {} if found.fans is None else plain(ends_of(found.fans)),
    }


def ends_of(fans: Fans) -> Message:
    """The predicted end of every arm with a fan: low, middle and high, in three columns."""
    ends = fans.quantiles[:, -1]
    return {"arm": fans.arms, "low": ends[:, 0], "middle": ends[:, 2], "high": ends[:, -1]}


def text_of(message: object) -> str:
    """A message as JSON that can stand in any page: no `<`, so no tag can begin in it."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _drawn_fans(fans: Fans, state: State) -> Fans:
    flying = [attempt.unit.arm for attempt in state.flying]
    return fans.of(np.array([*flying, *fans.arms[:_FANS].tolist()], np.int64))


def _moment(scene: Scene) -> Message:
    return {
        "position": scene.state.events,
        "phase": scene.phase,
        "phase_text": scene.phase_text,
        "over": scene.over,
        "overview": plain(scene.overview),
    }
