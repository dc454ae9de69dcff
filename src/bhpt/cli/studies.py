"""`bhpt studies`: list, compare and archive the studies of a folder or a server."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from bhpt.charts.comparison import compare
from bhpt.cli.read_study import StoredStudy
from bhpt.domain import Misuse
from bhpt.reports.phase import phase_of
from bhpt.storage import Address
from bhpt.storage.catalogue import Readers, find_studies
from bhpt.study.new_study import NEW_STUDIES
from bhpt.views.consoles import page, put
from bhpt.views.formatting import one_line, to_stderr


def studies(
    where: Annotated[
        str,
        typer.Argument(
            help="A folder, or postgresql://…/DATABASE; what `bhpt tune` wrote here if not given.",
            metavar="FOLDER|URL",
        ),
    ] = NEW_STUDIES,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Only these, by name; all if not given.", metavar="NAME"),
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
    elif found:
        _show_list(found)
    else:
        to_stderr(f"there is no study in {_shown(where)} yet: `bhpt tune` makes one")


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
    table = Table(box=None)
    for title in ("study", "is", "used", "best", "arms", "units", "last event"):
        table.add_column(title, overflow="fold")  # what is cut off cannot be typed
    troubles: dict[str, str] = {}
    for name, read in _read_each(found):
        if isinstance(read, Misuse):  # one that is damaged must not hide the others
            troubles[name] = str(read)
        table.add_row(name, *(("cannot be read",) if isinstance(read, Misuse) else _row(read)))
    console = page()
    put(console, table)
    for name, trouble in troubles.items():
        console.print(Text(f"{name}: {one_line(trouble)}", "red"), soft_wrap=True)


def _read_each(found: Mapping[str, Address]) -> Iterator[tuple[str, StoredStudy | Misuse]]:
    """The studies one after the other, or why one cannot be read."""
    with Readers() as readers:
        for name, address in found.items():
            try:
                with readers.open(address) as reader:
                    read: StoredStudy | Misuse = StoredStudy.read(reader)
            except Misuse as error:
                read = error
            yield name, read


def _row(stored: StoredStudy) -> tuple[str, ...]:
    state = stored.state
    rules = state.ledger.budget.rules
    used = rules.used(state.ledger.spent, state.clock)
    best = "" if state.best is None else f"{state.plan.objective.from_loss(state.best.loss):.5g}"
    return (
        _phase(stored),
        rules.used_text(used),
        f"{state.plan.objective.metric} {best}" if best else "",
        f"{0 if state.curves is None else len(state.curves.visited)} of {len(state.configs)}",
        str(state.reports),
        stored.changed[:16].replace("T", " "),
    )


def _phase(stored: StoredStudy) -> str:
    """Whether it runs, could go on, or is done."""
    phase = phase_of(stored.state, stored.is_running)
    texts = {"running": "running: {}", "held": "held by {}"}
    return texts.get(phase, phase).format(stored.lease.holder)


def _show_comparison(found: Mapping[str, Address]) -> None:
    read = {
        name: stored.state
        for name, stored in _read_each(found)
        if isinstance(stored, StoredStudy)  # one that is damaged must not hide the others
        and stored.state.reports
    }
    names, states = list(read), list(read.values())
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
        Misuse: There is a file of that name already, or the folder cannot be made.
    """
    from bhpt.tuning.archive import write_archive  # with all that a study's folder needs
    from bhpt.tuning.removal import put_away

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse(f"--archive {folder} cannot be made: {error.strerror}") from None
    for name, address in found.items():
        file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.tar"
        if file.exists():
            raise Misuse(f"{file} exists: name another folder")
        made = (put_away if remove else write_archive)(address, file)
        gone = ", removed from its store" if remove else ""
        lost = f", {made.missing} more are damaged or gone" if made.missing else ""
        held = f"{made.events} events and {made.checkpoints} checkpoints"
        print(f"{name}: {held} in {file}{lost}{gone}")
