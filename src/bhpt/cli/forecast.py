"""`bhpt forecast`: what more budget is expected to buy."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from bhpt.reports.forecast import Forecast, forecast_study
from bhpt.reports.worlds import Outcome
from bhpt.views.consoles import page, put
from bhpt.views.formatting import loss_text

_ASSUMED = (
    "Assumed: curves go on as the {predictor} expects from what was seen so far, and the "
    "additional budget goes to the most promising arms, as many as the last column says, the "
    "better ones of which are trained on. A gain counts as far as such predictions came true "
    "earlier in this study. The interval holds about 90%; that nothing better comes is always "
    "possible."
)


def forecast(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
    add_budget: Annotated[
        list[str] | None,
        typer.Option(help='An additional budget to look at, such as "50 epochs"; repeatable.'),
    ] = None,
) -> None:
    """Say what more budget is expected to buy."""
    found = forecast_study(study, add_budget or [])
    predictor = "study's predictor" if found.own_predictor else "learned predictor"
    assumed = _ASSUMED.format(predictor=predictor)
    put(page(), _table(found), Text(f"\n{assumed}", "dim"))


def _table(found: Forecast) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("more budget", no_wrap=True)
    table.add_column(f"expected best {found.objective.metric}", justify="right")
    table.add_column("90% interval", justify="right", no_wrap=True)
    better = "lower by" if found.objective.mode == "min" else "higher by"
    table.add_column(better, justify="right")
    table.add_column("arms", justify="right")
    rules = found.budget.rules
    left = rules.text(found.left)
    table.add_row("now", loss_text(found.best), "", "", "")
    for outcome in found.outcomes:
        if outcome.more or found.left > 0:
            what = rules.text(outcome.more) if outcome.more else f"the {left} left"
            table.add_row(what, *_cells(outcome, found.best))
    return table


def _cells(outcome: Outcome, best: float) -> tuple[str, str, str, str]:
    gain = abs(best - outcome.expected)
    part = f"{gain / abs(best):.1%}" if best else loss_text(gain)
    interval = f"{loss_text(outcome.low)} to {loss_text(outcome.high)}"
    return loss_text(outcome.expected), interval, part, str(outcome.arms)
