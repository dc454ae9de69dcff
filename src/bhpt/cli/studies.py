"""`bhpt studies`: list, compare and archive the studies of a folder or a server."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
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
    seen = [_read(name, address) for name, address in found.items()]
    if compare_:
        _show_comparison([one for one in seen if one.snapshot is not None])
    else:
        _show_list(seen)


@dataclass(frozen=True, eq=False)
class _Seen:
    """A study in the list: its name, and what was read or why it cannot be read."""

    name: str
    snapshot: StudySnapshot | None
    trouble: str = ""


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


def _read(name: str, address: Address) -> _Seen:
    """A study, or why it cannot be read: one that is damaged must not hide the others."""
    try:
        return _Seen(name, read_snapshot(address))
    except Misuse as error:
        return _Seen(name, None, str(error))


def _show_list(seen: Sequence[_Seen]) -> None:
    table = Table("study", "is", "used", "best", "arms", "units", "last event", box=None)
    for one in seen:
        row = ("cannot be read",) if one.snapshot is None else _row(one.snapshot)
        table.add_row(one.name, *row)
    console = page()
    put(console, table)
    for one in seen:
        if one.snapshot is None:
            console.print(Text(f"{one.name}: {one_line(one.trouble)}", "red"), soft_wrap=True)


def _row(snapshot: StudySnapshot) -> tuple[str, ...]:
    state = snapshot.state
    rules = state.ledger.budget.rules
    used = rules.used(state.ledger.spent, state.clock)
    best = "" if state.best is None else f"{state.plan.objective.from_loss(state.best.loss):.5g}"
    return (
        _phase(snapshot),
        f"{rules.text(used)} of {state.ledger.budget}",
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


def _show_comparison(seen: Sequence[_Seen]) -> None:
    snapshots = [one.snapshot for one in seen if one.snapshot is not None]
    states = [snapshot.state for snapshot in snapshots if snapshot.state.reports]
    names = [one.name for one in seen if one.snapshot is not None and one.snapshot.state.reports]
    if not states:
        raise Misuse("there is no study with results to compare")
    found = compare(states)
    rules = states[0].ledger.budget.rules
    table = Table(f"best {states[0].plan.objective.metric} after", box=None)
    for used in found.used:
        table.add_column(rules.text(float(used)), justify="right")
    sign = 1.0 if states[0].plan.objective.mode == "min" else -1.0
    for place in np.argsort(sign * found.best[:, -1]):
        values = ("" if np.isnan(value) else f"{value:.5g}" for value in found.best[place])
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
