"""`bhpt studies`: list, compare and archive the studies of a folder or a server."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from bhpt.charts.comparison import compare
from bhpt.cli.read_study import StudySnapshot, read_snapshot
from bhpt.domain import Misuse
from bhpt.storage import Address
from bhpt.storage.catalogue import find_studies
from bhpt.study import State
from bhpt.views.consoles import page, put
from bhpt.views.formatting import one_line


def studies(
    where: Annotated[
        str, typer.Argument(help="A folder, or postgresql://…/DATABASE.", metavar="FOLDER|URL")
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Only these, by name; all if not given.", metavar="NAME..."),
    ] = None,
    compare_: Annotated[
        bool,
        typer.Option("--compare", help="Show what each had found when all had used as much."),
    ] = False,
    archive: Annotated[
        Path | None,
        typer.Option(help="Copy the named ones, with checkpoints, to this folder.", metavar="DIR"),
    ] = None,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="With --archive: remove each once its archive is whole."),
    ] = False,
) -> None:
    """List, compare or archive the studies of a folder or a server."""
    found = _chosen(where, names or [])
    if remove and archive is None:
        raise Misuse("--remove needs --archive DIR: nothing is removed that was not copied")
    if archive is not None:
        if not names:
            raise Misuse("--archive needs the names of studies: nothing is archived unasked")
        _archive(found, archive, remove=remove)
        return
    if compare_:
        _show_comparison(found)
    else:
        _show_list(found)


def _chosen(where: str, names: Sequence[str]) -> dict[str, Address]:
    """The studies to look at, by name.

    Raises:
        Misuse: A named one is not there.
    """
    root = Path(where)
    all_ = {_name(address, root): address for address in find_studies(where)}
    if unknown := [name for name in names if name not in all_]:
        known = ", ".join(all_) or "none"
        raise Misuse(f"there is no study {unknown[0]!r} at {_shown(where)}: there is {known}")
    return {name: all_[name] for name in names} if names else all_


def _name(address: Address, root: Path) -> str:
    """What a study is called in its folder or database."""
    if address.file is None:
        return address.study
    inside = address.file.is_relative_to(root) and address.file != root
    return str(address.file.relative_to(root)) if inside else address.file.name


def _shown(where: str) -> str:
    return str(Address.parse(where)) if "://" in where else where


def _show_list(found: Mapping[str, Address]) -> None:
    """One line a study, read one after the other: a team may have thousands."""
    table = Table("study", "is", "used", "best", "arms", "units", "last event", box=None)
    troubles: dict[str, str] = {}
    for name, address in found.items():
        try:
            row = _row(read_snapshot(address))
        except Misuse as error:  # one that is damaged must not hide the others
            row, troubles[name] = ("cannot be read",), str(error)
        table.add_row(name, *row)
    console = page()
    put(console, table)
    for name, trouble in troubles.items():
        console.print(Text(f"{name}: {one_line(trouble)}", "red"), soft_wrap=True)


def _row(snapshot: StudySnapshot) -> tuple[str, ...]:
    state = snapshot.state
    rules = state.ledger.budget.rules
    used = rules.used(state.ledger.spent, state.clock)
    best = "" if state.best is None else f"{state.plan.objective.from_loss(state.best.loss):.5g}"
    return (
        _phase(snapshot),
        rules.used_text(used),
        f"{state.plan.objective.metric} {best}" if best else "",
        f"{len(state.tried)} of {len(state.configs)}",
        str(state.reports),
        snapshot.changed[:16].replace("T", " "),
    )


def _phase(snapshot: StudySnapshot) -> str:
    """Whether it runs, could go on, or is done."""
    if snapshot.is_running:
        return f"running: {snapshot.lease.holder}"
    if snapshot.is_running is None:
        return f"held by {snapshot.lease.holder}"
    if snapshot.state.open:
        return "interrupted"
    ledger = snapshot.state.ledger
    step = snapshot.state.plan.training.step
    return "paused" if ledger.left >= ledger.budget.rules.worth_a_session(step) else "done"


def _show_comparison(found: Mapping[str, Address]) -> None:
    read: dict[str, State] = {}
    for name, address in found.items():
        with suppress(Misuse):  # one that is damaged must not hide the others
            read[name] = read_snapshot(address).state
    states = [state for state in read.values() if state.reports]
    names = [name for name, state in read.items() if state.reports]
    if not states:
        raise Misuse("there is no study with results to compare")
    compared = compare(states)
    rules = states[0].ledger.budget.rules
    table = Table(f"best {states[0].plan.objective.metric} after", box=None)
    for used in compared.used:
        table.add_column(rules.text(float(used)), justify="right")
    sign = 1.0 if states[0].plan.objective.mode == "min" else -1.0
    for place in np.argsort(sign * compared.best[:, -1]):
        values = ("" if np.isnan(value) else f"{value:.5g}" for value in compared.best[place])
        table.add_row(names[int(place)], *values)
    put(page(), table)


def _archive(found: dict[str, Address], folder: Path, *, remove: bool) -> None:
    """Copy studies to tar files, and remove them if that is asked for.

    Raises:
        Misuse: There is a file of that name already.
    """
    from bhpt.tuning.archive import write_archive  # with all that a study's folder needs
    from bhpt.tuning.removal import put_away

    folder.mkdir(parents=True, exist_ok=True)
    for name, address in found.items():
        file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.tar"
        if file.exists():
            raise Misuse(f"{file} exists: name another folder")
        made = (put_away if remove else write_archive)(address, file)
        gone = ", removed from its store" if remove else ""
        lost = f", {made.missing} more are damaged or gone" if made.missing else ""
        held = f"{made.events} events and {made.checkpoints} checkpoints"
        print(f"{name}: {held} in {file}{lost}{gone}")
