"""Weights & Biases: a group of runs a study, a run an arm; offline unless WANDB_MODE says else.

A run that goes on in a later session has the same id, and a folder of its own beside the first:
`wandb sync` puts them together. How far each run is, is noted beside them, because runs that are
offline cannot be asked.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import wandb

from bhpt.trackers.interface import ArmRun, TrackedStudy

_PLACE = "runs"
_SECOND_S = 0.05  # between looks for a new second
_OPEN = 16  # runs that are held open; each has files and a thread of its own


class WeightsAndBiases:
    """Writes runs through `wandb`.

    Args:
        place: The folder in which `wandb` is made; `runs` if empty.
    """

    def __init__(self, place: str = "") -> None:
        self._place = Path(place or _PLACE).absolute()
        self._study: TrackedStudy | None = None
        self._open: dict[int, Any] = {}  # those used last come last
        self._held: dict[str, int] = {}

    def begin(self, study: TrackedStudy) -> None:
        """Find the note of how far the study's runs are."""
        self._study = study
        self._place.mkdir(parents=True, exist_ok=True)
        if self._note.exists():
            self._held = json.loads(self._note.read_text())

    def epochs(self, arm: int) -> int:
        """As the note says."""
        return self._held.get(str(arm), 0)

    def write(self, run: ArmRun) -> None:
        """Log each epoch at its step, and note how far the run is."""
        there = self._open.pop(run.arm, None) or self._start(run)
        self._open[run.arm] = there
        for epoch, metrics in run:
            there.log(dict(metrics), step=epoch)
            self._held[str(run.arm)] = epoch
        while len(self._open) > _OPEN:
            self._open.pop(next(iter(self._open))).finish()
        self._write_note()

    def close(self) -> None:
        """Finish the runs that are open."""
        for run in self._open.values():
            run.finish()
        self._open.clear()

    def _start(self, run: ArmRun) -> Any:  # noqa: ANN401  # a run of wandb
        study = self._label
        name = f"{study}-{run.arm:04d}"
        self._await_free_folder(name)
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        return wandb.init(
            project=study.rpartition("-")[0],
            group=study,
            id=name,
            name=f"arm-{run.arm:04d}",
            config=dict(run.config),
            dir=str(self._place),
            mode=mode,
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
        )

    def _await_free_folder(self, name: str) -> None:
        """Wait while this second's folder is taken: wandb would write over what is in it."""
        while any(self._place.glob(f"wandb/*run-{time.strftime('%Y%m%d_%H%M%S')}-{name}")):
            time.sleep(_SECOND_S)

    @property
    def _label(self) -> str:
        return "" if self._study is None else self._study.label

    @property
    def _note(self) -> Path:
        return self._place / f"wandb-{self._label}.json"

    def _write_note(self) -> None:
        beside = self._note.with_suffix(".new")
        beside.write_text(json.dumps(self._held))
        beside.replace(self._note)
