"""`bhpt policies`: the names of policies and baselines."""

from rich.console import Console
from rich.table import Table

from bhpt.bench.baselines.registry import BASELINES
from bhpt.bench.peers.registry import PEERS
from bhpt.policies.registry import ENTRIES


def policies() -> None:
    """List the policies to tune with, and those of the benchmark."""
    console = Console()
    console.print("To tune with: `bhpt tune --policy NAME`", style="bold", highlight=False)
    console.print(_table([(entry.name, entry.about) for entry in ENTRIES]))
    console.print(
        "\nIn the benchmark only: `bhpt bench --policies NAME,…` takes these, too",
        style="bold",
        highlight=False,
    )
    console.print(_table([(entry.name, entry.about) for entry in (*BASELINES, *PEERS)]))


def _table(rows: list[tuple[str, str]]) -> Table:
    table = Table("policy", "what it does", box=None, header_style="bold")
    for name, about in rows:
        table.add_row(name, about)
    return table
