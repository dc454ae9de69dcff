"""Which GPUs a worker sees: its share of those that there are, set before anything is imported."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bhpt.domain.errors import Misuse
from bhpt.domain.words import counted

VISIBLE = "CUDA_VISIBLE_DEVICES"
_ROUNDING = 1e-9


def find_devices(
    environment: Mapping[str, str] = os.environ, files: Path = Path("/dev")
) -> list[str]:
    """The GPUs that this process may use, as `CUDA_VISIBLE_DEVICES` names them.

    Args:
        environment: Where that variable is looked up; it restricts what there is.
        files: Folder with the device files of the GPUs that there are.
    """
    visible = environment.get(VISIBLE)
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    numbers = [int(path.name[6:]) for path in files.glob("nvidia*") if _is_gpu(path.name)]
    return [str(number) for number in sorted(numbers)]


def _is_gpu(name: str) -> bool:
    return re.fullmatch(r"nvidia\d+", name) is not None


def share_devices(devices: Sequence[str], workers: int, each: float) -> list[tuple[str, ...]]:
    """The GPUs of each worker.

    Args:
        devices: What there is.
        workers: How many share it.
        each: GPUs for one worker: 0 for none, a whole number for so many of its own, or a
            fraction such as 0.5 for one that it shares with others.

    Raises:
        Misuse: There are not enough, or `each` is neither.
    """
    if each == 0:
        return [()] * workers
    if not 0 <= each < math.inf or (each > 1 and each != int(each)):
        raise Misuse(f"gpus_per_worker {each:g}: give 0, a fraction such as 0.5, or 1, 2, ...")
    if each >= 1:
        count = int(each)
        _require(len(devices), workers * count, workers, each)
        return [tuple(devices[i * count : (i + 1) * count]) for i in range(workers)]
    sharing = int(1 / each + _ROUNDING)
    _require(len(devices), -(-workers // sharing), workers, each)
    return [(devices[i // sharing],) for i in range(workers)]


def _require(there: int, needed: int, workers: int, each: float) -> None:
    if not there:
        raise Misuse("there is no GPU here that workers could have: leave out gpus_per_worker")
    if there < needed:
        raise Misuse(
            f"{counted(workers, 'worker')} with {each:g} GPU each would need {needed}, and there "
            f"are {there}: use fewer workers or a smaller share"
        )
