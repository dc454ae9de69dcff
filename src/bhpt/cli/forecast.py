"""`bhpt forecast`: what more budget is expected to buy."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from bhpt.domain import Misuse
from bhpt.reports.forecast import Forecast, forecast_study
from bhpt.reports.policy_comparison import PolicyComparison, compare_policies
from bhpt.reports.worlds import Outcome, ends_text
from bhpt.views.consoles import page, put
from bhpt.views.formatting import loss_text

_PLAYED = (
    "{policies} in the same {draws} draws of how curves go on by the study's predictor, with "
    "{budget}: each policy decides as it would for real, and sees a curve only as far as it "
    "trained it. New configurations are not drawn. A gain counts as far as such predictions "
    "came true earlier in this study."
)


def forecast(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
    add_budget: Annotated[
        list[str] | None,
        typer.Option(
            help='An additional budget to look at, such as "50 epochs"; repeatable.',
            metavar="BUDGET",
        ),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Play these policies from here instead, such as default,asha,sh, and compare "
            "where they end."
        ),
    ] = None,
) -> None:
    """Say what more budget would buy, or which policy to use it with."""
    if policies is not None:
        _compare(study, policies, add_budget or [])
        return
    found = forecast_study(study, add_budget or [])
    note = f"{found.assumed} The last column says how many arms that would be."
    put(page(), _table(found), Text(f"\n{note}", "dim"))


def _compare(study: str, policies: str, add_budget: list[str]) -> None:
    """Play policies from here and print how they would end."""
    if len(add_budget) > 1:
        raise Misuse("with --policies one --add-budget at most")
    names = [name.strip() for name in policies.split(",") if name.strip()]
    found = compare_policies(study, names, add_budget[0] if add_budget else None)
    played = _PLAYED.format(
        policies=f"{len(found.outcomes)} policies" if len(found.outcomes) > 1 else "One policy",
        draws=found.draws,
        budget=found.budget.rules.text(found.spent_on),
    )
    put(page(), _standings(found), Text(f"\n{found.sentence}."), Text(f"\n{played}", "dim"))


def _standings(found: PolicyComparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", no_wrap=True)
    table.add_column(f"expected best {found.objective.metric}", justify="right")
    table.add_column("90% interval", justify="right", no_wrap=True)
    table.add_column("behind by", justify="right")
    table.add_column("arms", justify="right")
    table.add_row("now", loss_text(found.best), "", "", "")
    for one in found.outcomes:
        behind = f"{one.behind:.3g} ± {one.error:.2g}" if one is not found.outcomes[0] else ""
        interval = ends_text(one.low, one.high)
        table.add_row(one.policy, loss_text(one.expected), interval, behind, f"{one.arms:.0f}")
    return table


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
            table.add_row(what, *_cells(found, outcome))
    return table


def _cells(found: Forecast, outcome: Outcome) -> tuple[str, str, str, str]:
    gain = found.gain_text(abs(found.best - outcome.expected))
    interval = ends_text(outcome.low, outcome.high)
    return loss_text(outcome.expected), interval, gain, str(outcome.arms)
