"""The process of a slot: imports the trainer once, then trains one order after another.

It runs the user's code in its main thread and nothing beside it, so that libraries which care
(CUDA, signal handlers, fork) find what they expect. It ends when the driver hangs up.
"""

import faulthandler
import json
import os
import shutil
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path

from bhpt.checkpoints.disk import is_disk_full
from bhpt.checkpoints.manifest import UnsafeCheckpoint, seal, verify
from bhpt.domain.errors import Misuse
from bhpt.domain.reports import BadReport
from bhpt.domain.results import Failure, FailureKind, Usage
from bhpt.domain.stopwatch import Stopwatch
from bhpt.executors.interface import Job, Report
from bhpt.executors.messages import Order, Ready, Unusable, decode_order, encode
from bhpt.trainers.interface import Trained, Trainer, TrainerFailed, Work
from bhpt.trainers.specs import load, spec_from_wire

_PACKAGE = Path(__file__).parents[1]
_FULL_BELOW = 1 << 20
_LONGEST_MESSAGE = 300
_FREE = "free some space and resume"


def main(descriptor: int) -> None:
    """Serve until the driver hangs up.

    Args:
        descriptor: Our end of the connection to the driver. Its first line is the trainer's
            specification, each further one an order.
    """
    _settle_signals()
    sys.argv = ["bhpt-worker"]
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    with socket.socket(fileno=descriptor) as driver:
        driver.set_inheritable(False)
        with driver.makefile("r", encoding="ascii") as lines:
            try:
                trainer = load(spec_from_wire(json.loads(lines.readline())))
            except Misuse as error:
                driver.sendall(encode(Unusable(str(error))))
                return
            driver.sendall(encode(Ready(trainer.kind, os.getpid(), time.monotonic())))
            _serve(driver, lines, trainer)


def _settle_signals() -> None:
    """Ctrl-C is for the driver only; a hung trainer says where it hung before it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    faulthandler.register(signal.SIGTERM, chain=True)


def _serve(driver: socket.socket, lines: Iterable[str], trainer: Trainer) -> None:
    alive: dict[int, object] = {}
    for line in lines:
        report = _attempt(trainer, decode_order(line), alive)
        sys.stdout.flush()
        sys.stderr.flush()
        driver.sendall(encode(report))
    for arm in tuple(alive):
        _let_go(trainer, alive.pop(arm))


def _attempt(trainer: Trainer, order: Order, alive: dict[int, object]) -> Report:
    """Train one order; whatever the user's code does ends up in a report."""
    began = time.monotonic()
    job = order.job
    for arm in order.drop:
        _let_go(trainer, alive.pop(arm, None))
    living = alive.pop(job.arm, None)
    if not job.resume.live:
        _let_go(trainer, living)
    try:
        result, lives_on = _train(trainer, job, living if job.resume.live else None)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary to the user's code
        if not isinstance(error, BadReport | UnsafeCheckpoint | TrainerFailed):
            _print_theirs(error)
        kind, message = _explain(error, job.freeze_to)
        return Report(job.attempt, job.arm, Failure(kind, message, usage=_usage(order, began)))
    if lives_on is not None:
        alive[job.arm] = lives_on
    usage = replace(_usage(order, began), checkpoint_s=result.usage.checkpoint_s)
    done = replace(result, usage=usage)
    return Report(job.attempt, job.arm, done, alive=lives_on is not None)


def _let_go(trainer: Trainer, living: object | None) -> None:
    """End a live trainer; an error of its cleaning up is printed and fails no job."""
    if living is None:
        return
    try:
        trainer.drop(living)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary to the user's code
        _print_theirs(error)


def _train(trainer: Trainer, job: Job, living: object | None) -> Trained:
    """Check what is to be loaded, train, seal what was frozen."""
    resume = job.resume
    os.environ["BHPT_ARM"] = str(job.arm)
    os.environ["BHPT_EPOCH"] = str(resume.epochs)
    if resume.live and living is None:
        raise TrainerFailed(f"the live trainer of arm {job.arm} is not in this worker any more")
    moving = Stopwatch()
    if resume.place is not None and resume.digest is not None:
        with moving:
            verify(resume.place.parent, resume.digest)
    work = Work(job.config, job.epochs, job.freeze_to, resume, job.rerun, job.objective)
    result, lives_on = trainer.run(work, living)
    if result.frozen:
        with moving:
            seal(job.freeze_to)
    moved = result.usage.checkpoint_s + moving.seconds
    return replace(result, usage=Usage(checkpoint_s=moved)), lives_on


def _usage(order: Order, began: float) -> Usage:
    """What an order took, until now."""
    return Usage(
        seconds=max(0.0, time.monotonic() - order.submitted),
        setup_s=max(0.0, began - order.submitted),
        rerun=order.job.rerun,
    )


def _print_theirs(error: BaseException) -> None:
    """Print the traceback from where the user's code begins, without our frames."""
    trace = error.__traceback__
    while trace is not None and Path(trace.tb_frame.f_code.co_filename).is_relative_to(_PACKAGE):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace or error.__traceback__)


def _explain(error: BaseException, freeze_to: Path) -> tuple[FailureKind, str]:
    if isinstance(error, BadReport | UnsafeCheckpoint):
        return FailureKind.BAD_REPORT, _one_line(str(error))
    if is_disk_full(error) or _is_full(freeze_to):
        return FailureKind.DISK_FULL, _one_line(f"no room for the checkpoint ({error}): {_FREE}")
    if isinstance(error, TrainerFailed):
        return FailureKind.CRASHED, _one_line(str(error))
    if isinstance(error, SystemExit):
        return FailureKind.CRASHED, _one_line(f"the trainer called exit({error.code!r})")
    return FailureKind.CRASHED, _one_line(f"{type(error).__name__}: {error}")


def _is_full(folder: Path) -> bool:
    """Libraries hide a full disk behind errors of their own, so look at the disk itself."""
    return folder.is_dir() and shutil.disk_usage(folder).free < _FULL_BELOW


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 3] + "..."
