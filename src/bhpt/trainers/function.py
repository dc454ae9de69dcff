"""The training function: an ordinary loop that calls `bhpt.report` after each epoch.

    def train(config):
        model = build(config)
        if (folder := bhpt.checkpoint()) is not None:
            model.load(folder)
        while True:
            bhpt.report({"loss": model.one_epoch()}, checkpoint=model.save)

The function runs in a thread of its own, and only while a unit is trained: `report` returns when
more epochs are wanted. One that passes checkpoints is frozen and thawed; one that does not stays
alive in its worker, and what is lost with the worker is trained again.
"""

import inspect
import os
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from bhpt.domain.errors import Misuse
from bhpt.domain.reports import BadReport, EpochReport, read_reports
from bhpt.domain.results import Usage
from bhpt.domain.stopwatch import Stopwatch
from bhpt.trainers.interface import Trained, Work

CheckpointSource = str | os.PathLike[str] | Callable[[Path], object]
"""A folder or file to copy, or a function that saves into the folder that it is given."""

_ENDING_S = 5.0  # a function that is let go of may take this long to clean up


class FunctionDropped(BaseException):
    """Raised by `report` in a function that is not continued, so that it cleans up and ends."""


def report(metrics: object, checkpoint: CheckpointSource | None = None) -> None:
    """Report an epoch from within a training function; returns when more epochs are wanted.

    Args:
        metrics: The value of the study's metric, or a mapping of metrics that holds it.
        checkpoint: What the function could go on from: a folder or file, which is copied, or a
            function that saves into a folder. It is only used where a unit ends.

    Raises:
        Misuse: No training function is being tuned here.
        BadReport: The metric is missing or not a number.
    """
    _current("report").take(metrics, checkpoint)


def checkpoint() -> Path | None:
    """The folder to load before the first epoch; None if training starts from nothing.

    Raises:
        Misuse: No training function is being tuned here.
    """
    return _current("checkpoint").start_place()


class FunctionRun:
    """One call of a training function, in lock-step with the worker.

    The worker's thread and the function's never run at the same time: `advance` hands over and
    waits, `take` hands back and waits.

    Args:
        function: The user's function.
        work: The first unit.
        name: How the function is called in messages.
    """

    def __init__(
        self, function: Callable[[dict[str, object]], object], work: Work, name: str
    ) -> None:
        self._name = name
        self._place = work.resume.place
        self._asked = False
        self._reported = False
        self._dropped = False
        self._over = False
        self._error: BaseException | None = None
        self._work = work
        self._reports: list[EpochReport] = []
        self._frozen = False
        self._saving = Stopwatch()
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._thread = threading.Thread(
            target=self._body, args=(function, dict(work.config)), name=name, daemon=True
        )

    def advance(self, work: Work) -> Trained:
        """Let the function train one unit.

        Raises:
            BadReport: It ended before the epochs that are due.
            BaseException: Whatever it raised.
        """
        self._work, self._reports, self._frozen = work, [], False
        self._saving = Stopwatch()
        with _running(self):
            if self._thread.ident is None:
                self._thread.start()
            else:
                self._go.release()
            self._back.acquire()
        if self._error is not None:
            raise self._error
        if len(self._reports) < work.trained:
            raise BadReport(
                f"{self._name} ended before epoch {work.resume.epochs + work.trained}: let it "
                "call bhpt.report() after each epoch for as long as it is asked, or give "
                "max_epochs"
            )
        result = work.result(self._reports, frozen=self._frozen)
        return replace(result, usage=Usage(checkpoint_s=self._saving.seconds)), self

    def take(self, metrics: object, source: CheckpointSource | None) -> None:
        """An epoch from the function; waits if it was the last one that is due."""
        if self._dropped:
            raise FunctionDropped
        where = f"bhpt.report() in {self._name}"
        if self._place is not None and not self._asked:
            raise BadReport(
                f"{self._name} was to go on from epoch {self._work.resume.epochs} but never "
                "called bhpt.checkpoint(): load the folder that it returns"
            )
        self._reports += read_reports(metrics, self._work.objective, where)
        self._reported = True
        due = self._work.trained
        if len(self._reports) > due:
            raise BadReport(
                f"{where} gave {len(self._reports)} epochs, not {due}: report each epoch alone"
            )
        if len(self._reports) < due:
            return
        if source is not None:
            with self._saving:
                _save(source, self._work.freeze_to, where)
            self._frozen = True
        self._wait()

    def start_place(self) -> Path | None:
        """The checkpoint that the function starts from.

        Raises:
            Misuse: The function has trained on since, and the checkpoint may be gone.
        """
        if self._reported:
            raise Misuse("call bhpt.checkpoint() before the first bhpt.report()")
        self._asked = True
        return self._place

    def drop(self) -> None:
        """End the function where it waits: its `finally` and `with` blocks run."""
        if self._over:
            return
        self._dropped = True
        self._go.release()
        self._thread.join(_ENDING_S)
        if self._thread.is_alive():
            print(f"{self._name} does not end although it is let go of", file=sys.stderr)

    def _wait(self) -> None:
        """Hand back to the worker until the next unit."""
        self._back.release()
        self._go.acquire()
        if self._dropped:
            raise FunctionDropped

    def _body(
        self, function: Callable[[dict[str, object]], object], config: dict[str, object]
    ) -> None:
        """The function's thread, to its end."""
        try:
            returned = function(config)
            if inspect.isgenerator(returned):
                raise BadReport(
                    f"{self._name} returned a generator: hand over the generator function itself, "
                    "or let it `yield from` that"
                )
            if returned is not None and not self._reported:
                raise BadReport(
                    f"{self._name} returned {returned!r:.40}, which nobody reads: let it call "
                    "bhpt.report() with that, after each epoch"
                )
        except FunctionDropped:
            pass
        except BaseException as error:  # noqa: BLE001  # the worker's thread raises it
            self._error = error
        finally:
            self._over = True
            self._back.release()


@dataclass(frozen=True)
class FunctionTrainer:
    """Trains by running a user's function from one report to the next."""

    function: Callable[[dict[str, object]], object]
    name: str
    kind: str = "function"

    def run(self, work: Work, alive: object | None) -> Trained:
        """Go on with the call that waits, or call the function anew."""
        waiting = cast("FunctionRun | None", alive)
        run = FunctionRun(self.function, work, self.name) if waiting is None else waiting
        return run.advance(work)

    def drop(self, alive: object) -> None:
        """End a call that waits."""
        cast("FunctionRun", alive).drop()


class _Running:
    """Which call the worker waits for; `report` may come from any thread that it has started."""

    call: FunctionRun | None = None


class _running:  # noqa: N801  # a context manager
    """Marks a call as the one that runs."""

    def __init__(self, call: FunctionRun) -> None:
        self._call = call

    def __enter__(self) -> None:
        _Running.call = self._call

    def __exit__(self, *_: object) -> None:
        _Running.call = None


def _current(what: str) -> FunctionRun:
    call = _Running.call
    if call is None:
        raise Misuse(f"bhpt.{what}() works inside a training function that bhpt.tune() runs")
    return call


def _save(source: CheckpointSource, folder: Path, where: str) -> None:
    """Write or copy a checkpoint into an empty folder.

    Raises:
        BadReport: There is no such folder, or nothing was saved.
    """
    if callable(source):
        source(folder)
    else:
        path = Path(source)
        if path.is_dir():
            shutil.copytree(path, folder, symlinks=True, dirs_exist_ok=True)
        elif path.is_file():
            shutil.copy2(path, folder / path.name)
        else:
            raise BadReport(f"{where}: there is no checkpoint {str(path)!r}")
    if not any(folder.iterdir()):
        raise BadReport(f"{where}: the checkpoint is empty")
