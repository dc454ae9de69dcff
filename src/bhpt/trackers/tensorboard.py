"""TensorBoard: a folder of event files a run, read by `tensorboard --logdir PLACE`.

A session writes one file a run, and a later one goes on in a file of its own: a file that a kill
has cut short harms nothing that comes after it.
"""

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.summary.writer.record_writer import RecordWriter

from bhpt.trackers.interface import ArmRun, TrackedStudy

_PLACE = "runs/tensorboard"


class TensorBoard:
    """Writes event files, with hyper-parameters for the page HPARAMS.

    Args:
        place: The folder for `--logdir`; `runs/tensorboard` if empty.
    """

    def __init__(self, place: str = "") -> None:
        self._place = Path(place or _PLACE)
        self._study = Path()
        at = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        self._file = f"events.out.tfevents.{at}.bhpt"

    def begin(self, study: TrackedStudy) -> None:
        """Make the study's folder."""
        self._study = self._place / study.label
        self._study.mkdir(parents=True, exist_ok=True)

    def epochs(self, arm: int) -> int:
        """The last step in the files of a run."""
        files = sorted(self._folder(arm).glob("events.out.tfevents.*"))
        return max((_last_step(file) for file in files), default=0)

    def write(self, run: ArmRun) -> None:
        """Append one event an epoch."""
        folder = self._folder(run.arm)
        folder.mkdir(exist_ok=True)
        file = folder / self._file
        events = [] if file.exists() else _head(f"arm-{run.arm:04d}", run.config)
        events += [_event(epoch, metrics) for epoch, metrics in run]
        with file.open("ab") as stream:
            writer = RecordWriter(stream)
            for event in events:
                writer.write(event.SerializeToString())

    def close(self) -> None:
        """Nothing to do: no file is held open."""

    def _folder(self, arm: int) -> Path:
        return self._study / f"arm-{arm:04d}"


def _head(name: str, config: Mapping[str, object]) -> list[Any]:
    """What a file begins with: its version and the hyper-parameters of the run."""
    plain = {
        key: value if isinstance(value, bool | int | float | str) else str(value)
        for key, value in config.items()
    }
    now = time.time()
    return [
        Event(wall_time=now, file_version="brain.Event:2"),
        Event(wall_time=now, summary=hparams_pb(plain, trial_id=name)),
    ]


def _event(epoch: int, metrics: Mapping[str, float]) -> Any:  # noqa: ANN401  # a protocol buffer
    values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
    return Event(wall_time=time.time(), step=epoch, summary=Summary(value=values))


def _last_step(file: Path) -> int:
    """The last whole event's step; what a kill has cut short is passed over."""
    return max((event.step for event in LegacyEventFileLoader(str(file)).Load()), default=0)
