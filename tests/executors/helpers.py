"""What the executor tests share."""

import time
from collections.abc import Callable
from pathlib import Path

from bhpt.testing.executors import collect as collect
from bhpt.testing.executors import resumed as resumed
from bhpt.testing.executors import run as run
from bhpt.trainers import Imported

SAMPLES = Path(__file__).with_name("sample_trainers.py")
NET = Imported(f"{SAMPLES}:Net")
TRAIN = Imported(f"{SAMPLES}:train")


def freeze_folder(root: Path, attempt: int) -> Path:
    folder = root / f"attempt-{attempt}" / "files"
    folder.mkdir(parents=True)
    return folder


def eventually(holds: Callable[[], bool], within: float = 10.0) -> None:
    until = time.monotonic() + within
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
