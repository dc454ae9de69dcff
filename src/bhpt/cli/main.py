"""`bhpt`: exit status 0 done, 1 failed, 2 misuse, 130 interrupted; errors are one clear line."""

import sys

import typer
from rich.console import Console
from rich.table import Table

from bhpt.bench.peers.registry import peers
from bhpt.cli.bench import bench
from bhpt.cli.peers import peers as bench_peers
from bhpt.domain import Misuse
from bhpt.policies.registry import ENTRIES

app = typer.Typer(
    name="bhpt",
    help="Hyper-parameter tuning under a hard budget: the best model you can afford.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
bench.command("peers")(bench_peers)
app.add_typer(bench, name="bench")


@app.command()
def policies() -> None:
    """List the policies that can be named; peers in the benchmark only."""
    table = Table("policy", "what it does", box=None, header_style="bold")
    listed = [(entry.name, entry.about) for entry in ENTRIES]
    for name, about in [*listed, *((peer.name, peer.about) for peer in peers())]:
        table.add_row(name, about)
    Console().print(table)


def main() -> None:
    """Entry point: turns misuse into one line and exit status 2."""
    try:
        app()
    except Misuse as error:
        print(f"bhpt: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("bhpt: interrupted; the same command goes on where it stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
