"""Numbers and names as a person reads them; nothing that could move a terminal's cursor."""

import json
import math
import shlex
import sys
from collections.abc import Mapping

import numpy as np

from bhpt.domain import FloatArray
from bhpt.reports.prediction import Interval
from bhpt.reports.worlds import ends_text
from bhpt.study.plan import Plan

_BARS = "▁▂▃▄▅▆▇█"
LOST = "LOST: it was saved, but has been damaged or removed since"  # a best model
EXHAUSTED = "nothing is left to train"  # each arm is given up or at its last epoch


def loss_text(loss: float) -> str:
    """A loss in four digits."""
    return f"{loss:.4g}"


def interval_text(found: Interval) -> str:
    """A predicted loss with its 90% interval; words instead of an interval without a width."""
    if not math.isfinite(found.low):
        return loss_text(found.middle)
    short = f"{found.low:.3g}", f"{found.high:.3g}"
    alike = short[0] == short[1]
    ends = ends_text(found.low, found.high) if alike else " to ".join(short)
    return f"{loss_text(found.middle)} ({ends})"


def value_text(value: object) -> str:
    """A value of a configuration; odd characters are escaped as JSON does."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str) and value.isprintable():
        return value
    return json.dumps(value)


def config_text(config: Mapping[str, object]) -> str:
    """A configuration in one line."""
    return "  ".join(f"{value_text(name)}={value_text(value)}" for name, value in config.items())


def one_line(text: str) -> str:
    """Foreign text without control characters."""
    return "".join(char if char.isprintable() else " " for char in text)


def printable(text: str) -> str:
    """Foreign text of several lines, with blanks instead of control characters."""
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def to_stderr(line: str) -> None:
    """Print a line at once, apart from what a command answers."""
    print(printable(line), file=sys.stderr, flush=True)


def starting_line(title: str) -> str:
    """The line until the first unit can start: a trainer may take long to be imported."""
    return f"{one_line(title)}: starting workers, which import the trainer"


def sparkline(curve: FloatArray, low: float, high: float, width: int) -> str:
    """A curve as bars, on a logarithmic scale if it can be; `!` where the loss is not finite."""
    if len(curve) > width:
        curve = curve[np.linspace(0, len(curve) - 1, width).round().astype(int)]
    if low > 0:
        low, high = math.log(low), math.log(high)
        curve = np.log(np.where(curve > 0, curve, np.nan))
    height = high - low
    shown = []
    for value in curve.tolist():
        if not math.isfinite(value):
            shown.append("!")
            continue
        part = (value - low) / height if height > 0 else 0.0
        shown.append(_BARS[min(int(max(part, 0.0) * len(_BARS)), len(_BARS) - 1)])
    return "".join(shown)


def resume_command(study: str, more: str = "") -> str:
    """What to type to go on with a study."""
    words = ["bhpt", "resume", study]
    return shlex.join([*words, "--add-budget", more] if more else words)


def go_on_command(study: str, plan: Plan, more: str = "") -> str:
    """The same for any study: one that was run with ask and tell goes on in Python."""
    if plan.trainer is not None:
        return resume_command(study, more)
    opened = f"bhpt.open_study({study!r})"
    return f"{opened}.add_budget({more!r})" if more else opened
