"""What more budget would buy, for a person who has to decide on it."""

from dataclasses import dataclass

from bhpt.reports.forecast import Forecast, forecast
from bhpt.reports.worlds import Outcome
from bhpt.study import State
from bhpt.study.deciding import is_exhausted

_NOTHING_TO_BUY = (
    "every configuration is given up or at its last epoch: more budget buys nothing, another study "
    "with other configurations or longer trainings may"
)
_WORTH = 0.005  # of the best value: a smaller expected gain is called little
_ADVISED = 0.5  # part of the budget that the advice is about


@dataclass(frozen=True, slots=True)
class Purchase:
    """An amount of budget and what it is expected to buy.

    Attributes:
        more: The amount, on top of the budget; 0 for what is left of it.
        text: The same in words, as `--add-budget` takes it.
        expected: The best value of the metric that is expected at its end.
        low: Lower end of the 90% interval.
        high: Upper end.
        gain: The expected improvement, as a part of the best value so far.
        gain_text: The same for people: in percent, or as it is where a part says nothing.
    """

    more: float
    text: str
    expected: float
    low: float
    high: float
    gain: float
    gain_text: str


@dataclass(frozen=True, slots=True)
class MoreBudget:
    """What more budget would buy.

    Attributes:
        best: The best value so far.
        left_text: What is left of the budget, in words.
        purchases: The smallest amount first.
        is_worth_it: Whether half as much again is expected to improve the best noticeably, beyond
            what is left already.
        advice: One sentence.
        advised: The amount that it is about, as `--add-budget` takes it; empty where no amount
            buys anything.
        assumed: What the numbers rest on.
    """

    best: float
    left_text: str
    purchases: tuple[Purchase, ...]
    is_worth_it: bool
    advice: str
    advised: str
    assumed: str


def more_budget(state: State) -> MoreBudget:
    """What several amounts of additional budget are expected to buy.

    Raises:
        Misuse: Nothing finite was observed yet.
    """
    found = forecast(state)
    purchases = tuple(
        _purchase(found, outcome) for outcome in found.outcomes if outcome.more or found.left > 0
    )
    advised = min(
        (one for one in purchases if one.more),
        key=lambda one: abs(one.more - _ADVISED * found.budget.amount),
    )
    left = next((one for one in purchases if not one.more), None)
    added = advised.gain - (0.0 if left is None else left.gain)
    over = is_exhausted(state)
    return MoreBudget(
        best=found.best,
        left_text=found.budget.rules.text(found.left),
        purchases=purchases,
        is_worth_it=added >= _WORTH,
        advice=_NOTHING_TO_BUY if over else _advice(found, left, advised, added),
        advised="" if over else advised.text,
        assumed=found.assumed,
    )


def _purchase(found: Forecast, outcome: Outcome) -> Purchase:
    lower = found.objective.to_loss(found.best) - found.objective.to_loss(outcome.expected)
    gain = max(lower, 0.0)
    return Purchase(
        more=outcome.more,
        text=found.budget.rules.text(outcome.more) if outcome.more else "",
        expected=outcome.expected,
        low=outcome.low,
        high=outcome.high,
        gain=gain / abs(found.best) if found.best else gain,
        gain_text=found.gain_text(gain),
    )


def _advice(found: Forecast, left: Purchase | None, advised: Purchase, added: float) -> str:
    """The advice on an amount, a sentence without its full stop.

    Args:
        found: The forecast.
        left: What the budget that is left is expected to buy, None if nothing is left.
        advised: The amount on top of that.
        added: What it is expected to gain beyond what is left, as a part of the best value.
    """
    metric = found.objective.metric
    said, start = "", f"{found.best:.4g}"
    if left is not None and left.gain >= _WORTH:
        start = f"{left.expected:.4g}"
        said = f"what is left is expected to bring the best {metric} to {start}; "
    if added < _WORTH:
        return f"{said}{advised.text} more would hardly improve the best {metric} ({start})"
    gained = found.gain_text(added * abs(found.best) if found.best else added)
    return (
        f"{said}{advised.text} more are expected to bring the best {metric} from {start} to "
        f"{advised.expected:.4g} ({gained} better; 90% interval {advised.low:.4g} to "
        f"{advised.high:.4g})"
    )
