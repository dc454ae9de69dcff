"""`bhpt doctor`: checks of this machine and of a study."""

import importlib.util
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from rich.text import Text

import bhpt
from bhpt.beliefs.learned.weights import Network, shipped
from bhpt.checkpoints import (
    Checkpoint,
    CheckpointPlace,
    CheckpointStore,
    Generation,
    LocalFolder,
    PlaceAway,
)
from bhpt.cli import threads
from bhpt.cli.errors import CommandFailed
from bhpt.cli.read_study import StudySnapshot, read_snapshot
from bhpt.domain import Misuse
from bhpt.domain.budget import Budget
from bhpt.executors import Job, LocalExecutor
from bhpt.executors.local import runs_here
from bhpt.storage import Damaged, create_store, read_store
from bhpt.study import NewerVersion, Plan, Training, fold
from bhpt.study.creation import first_events, note_of_other_weights
from bhpt.study.state import Best
from bhpt.trainers.specs import Imported
from bhpt.tuning.checkpoint_place import place_of
from bhpt.tuning.folder import StudyFolder, logged_checkpoints
from bhpt.views.consoles import page
from bhpt.views.formatting import LOST, one_line

_PACKAGES = ("numpy", "scipy", "ConfigSpace", "SQLAlchemy", "typer", "rich")
EXTRAS = {
    "plots": "matplotlib",
    "dashboard": "starlette",
    "demo": "sklearn",
    "torch": "torch",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "parquet": "pyarrow",
    "postgres": "psycopg",
    "remote": "fsspec",
    "ray": "ray",
    "tensorboard": "tensorboard",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "optuna": "optuna",
    "hydra": "hydra",
}
_Condition = Literal["whole", "missing", "damaged"]
_LEAST_FREE = 1 << 30
_WORKER_S = 60.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `sound` is None for plain information."""

    what: str
    sound: bool | None
    text: str


def doctor(
    study: Annotated[
        str | None,
        typer.Argument(help="A study whose integrity to check, too.", metavar="STUDY"),
    ] = None,
) -> None:
    """Check this machine, and a study if one is named."""
    console = page()
    ill = 0
    for finding in _findings(study):
        ill += finding.sound is False
        mark = {True: ("ok    ", "green"), False: ("FAILED", "bold red"), None: ("      ", "")}
        console.print(
            Text.assemble(mark[finding.sound], f" {finding.what:12} {one_line(finding.text)}"),
            soft_wrap=True,
        )
    if ill:
        raise CommandFailed(f"{ill} of the checks failed")


def _findings(study: str | None) -> Iterator[Finding]:
    if study is not None:
        yield from study_findings(study)
    yield from _software()
    yield from _weights()
    yield from _machine()
    with tempfile.TemporaryDirectory(prefix=".bhpt-doctor-", dir=_here()) as name:
        yield _tried("store", lambda: _store(Path(name)))
        yield _tried("worker", lambda: _worker(Path(name)))


def _software() -> Iterator[Finding]:
    python = platform.python_version()
    yield Finding("python", sys.version_info >= (3, 11), f"{python} ({sys.executable})")
    yield Finding("bhpt", None, bhpt.__version__)
    yield Finding("packages", True, ", ".join(f"{name} {version(name)}" for name in _PACKAGES))
    there = {extra: importlib.util.find_spec(name) is not None for extra, name in EXTRAS.items()}
    have = [extra for extra, found in there.items() if found]
    lack = [extra for extra, found in there.items() if not found]
    text = f"{', '.join(have) or 'none'}; not installed: {', '.join(lack) or 'none'}"
    yield Finding("extras", None, text)
    yield Finding("sqlite", sqlite3.sqlite_version_info >= (3, 35), sqlite3.sqlite_version)


def _weights() -> Iterator[Finding]:
    """The networks that the default decides with: they can be read, and where they come from."""
    for network in get_args(Network):
        yield _tried(f"net {network}", partial(_origin, network))


def _origin(network: Network) -> str:
    """The passport of shipped weights in one line."""
    passport = shipped(network).passport
    tasks = ", ".join(f"{suite} {count}" for suite, count in passport.trained_on.suites.items())
    kept = len(passport.trained_on.left_out)
    return (
        f"{passport.short}, trained {passport.date} on {tasks}"
        f"{f' without {kept} tasks' if kept else ''}; format {passport.format}, schema "
        f"{passport.schema.version} ({passport.schema.digest[:12]}); {passport.command}"
    )


def _machine() -> Iterator[Finding]:
    limits = "" if runs_here() else ": no local workers, which need Linux; ask and tell works"
    yield Finding("system", runs_here(), f"{platform.system()} {platform.release()}{limits}")
    cores = len(os.sched_getaffinity(0)) if runs_here() else os.cpu_count()
    yield Finding("cores", None, f"{cores} for this process")
    free = shutil.disk_usage(_here()).free
    yield Finding("disk", free >= _LEAST_FREE, f"{free / 1e9:.1f} GB free in {_here()}")


def _here() -> Path:
    """The current folder, where studies and checkpoints go.

    Raises:
        CommandFailed: It cannot be written.
    """
    here = Path.cwd()
    if not os.access(here, os.W_OK):
        raise CommandFailed(f"the folder {here} cannot be written: go to another one")
    return here


def _tried(what: str, attempt: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, attempt())
    except (Misuse, RuntimeError, OSError) as error:
        return Finding(what, False, str(error))


def _store(folder: Path) -> str:
    """Write a small study with full synchronisation, and read it back."""
    first = first_events(
        [{"loss": 1.0}], Budget(1), training=Training(1, 1), trainer={"name": "probe"}
    )
    started = time.perf_counter()
    with create_store(folder / "probe.db", first) as store:
        store.renew(1.0)
    with read_store(folder / "probe.db") as reader:
        fold(reader.read())
    return f"a study was written and read back in {time.perf_counter() - started:.2f} s"


def _worker(folder: Path) -> str:
    """Start a worker, train one unit of nothing, commit its checkpoint."""
    threads.give_back()
    checkpoints = CheckpointStore(LocalFolder(folder / "checkpoints"))
    started = time.monotonic()
    with LocalExecutor(Imported("bhpt.cli.probe_trainer:Probe"), 1, folder / "logs") as executor:
        executor.start()
        ready = time.monotonic()
        executor.submit(Job(0, 0, {"loss": 1.0}, 1, 0, checkpoints.begin(0, 0), limit_s=_WORKER_S))
        reports = executor.poll(_WORKER_S)
        if not reports:
            raise RuntimeError("it never answered")
        if reports[0].failure is not None:
            raise RuntimeError(reports[0].failure.message)
        checkpoints.commit(0, 0, 1)
        unit = time.monotonic() - ready
    return f"started in {ready - started:.2f} s, one empty unit took {1000 * unit:.0f} ms"


def study_findings(study: str) -> Iterator[Finding]:
    """The findings on a study.

    Raises:
        Misuse: There is none.
    """
    try:
        seen = read_snapshot(study)
    except (Damaged, NewerVersion) as error:
        yield Finding("study", False, str(error))
        return
    state = seen.state
    yield Finding("study", True, f"{seen.address}: {state.events} events, every digest is right")
    if state.plan.networks:
        yield _tried("weights", partial(_weights_of, state.plan))
    yield _ledger(seen)
    holder = seen.lease.holder
    alive = {True: "which runs", False: "which is gone: resume it", None: "elsewhere"}
    held = "nobody" if holder is None else f"{holder}, {alive[holder.is_alive()]}"
    yield Finding("held by", None, held)
    whose = f"{seen.folder.root} is this study's and not ahead of it"
    yield Finding("folder", seen.trouble is None, seen.trouble or whose)
    yield _checkpoints(seen)
    if state.best is not None and state.best.saved is not None:
        yield _best_model(seen, state.best)


def _weights_of(plan: Plan) -> str:
    """Which weights a study was created with, and whether its policy has others by now."""
    there = ", ".join(f"{name} {digest[:12]}" for name, digest in plan.networks.items())
    return note_of_other_weights(plan) or f"{there}, as when the study was created"


def _ledger(seen: StudySnapshot) -> Finding:
    """The total is the sum of all attempts, and within the budget."""
    state, ledger = seen.state, seen.state.ledger
    total = sum(attempt.cost for attempt in state.attempts)
    adds_up = abs(total - ledger.spent) <= 1e-6 * max(1.0, ledger.spent)
    rules = ledger.budget.rules
    fits = not rules.is_exceeded(ledger.used, ledger.held)
    text = f"{rules.used_text(ledger.used)} used in {len(state.attempts)} attempts"
    return Finding("ledger", adds_up and fits, text)


def _checkpoints(seen: StudySnapshot) -> Finding:
    """Every byte of every checkpoint in the log, where it lies: in the study's folder or remote."""
    logged = logged_checkpoints(seen.state)
    try:
        condition = Counter(_conditions(seen, logged))
    except (PlaceAway, Misuse) as error:
        return Finding("checkpoints", False, str(error))
    missing, damaged = condition["missing"], condition["damaged"]
    size = sum(one.bytes for one in logged)
    where = f" at {seen.state.checkpoints_at}" if seen.state.checkpoints_at else ""
    text = (
        f"{len(logged)} in the log ({size / 1e6:.1f} MB){where}, {missing} missing, "
        f"{damaged} damaged"
    )
    if missing or damaged:
        text += ": those arms are trained again from an earlier one, at their true cost"
    return Finding("checkpoints", not damaged and not missing, text)


def _conditions(seen: StudySnapshot, logged: Sequence[Checkpoint]) -> Iterator[_Condition]:
    """The condition of each checkpoint; remote ones are copied one by one and thrown away.

    Raises:
        PlaceAway: The remote place does not answer.
        Misuse: Its package is not installed.
    """
    remote = seen.state.checkpoints_at
    if not remote:
        here = place_of(remote, seen.folder, seen.identity)
        yield from (_condition(here, one) for one in logged)
        return
    for one in logged:
        with tempfile.TemporaryDirectory(prefix="bhpt-doctor-") as copies:
            yield _condition(place_of(remote, StudyFolder(Path(copies)), seen.identity), one)


def _condition(place: CheckpointPlace, one: Checkpoint) -> _Condition:
    try:
        place.fetch(Generation(one.arm, one.generation), one.digest)
    except FileNotFoundError:
        return "missing"
    except (ValueError, OSError):
        return "damaged"
    return "whole"


def _best_model(seen: StudySnapshot, best: Best) -> Finding:
    """The best model: its copy here, or its checkpoint where that lies."""
    folder = seen.folder
    found = folder.best_checkpoint(best)
    if found is None and seen.remote_best is not None:
        return Finding("best model", None, f"{seen.remote_best}; there is no copy here")
    if found is None:
        return Finding("best model", False, f"{LOST}; more budget trains it again")
    copy = folder.best_copy(best)
    if not copy.exists() or folder.has_best_copy(best):
        return Finding("best model", True, f"{found}, every byte is right")
    text = f"{copy} is damaged, but {found} is whole: `bhpt resume` copies it again"
    return Finding("best model", False, text)
