"""A disk that fills up under a whole driver: it pauses, keeps what it has, and goes on later."""

import os
from pathlib import Path

import pytest

from bhpt.tuning import Options, resume, tune
from tests.faults.cases import Drivers, events_of, eventually, sound
from tests.faults.trainers import Net
from tests.study.cases import Greedy
from tests.tuning.cases import essence

_CONFIGS = [{"x": n / 10, "bytes": 120_000} for n in range(6)]
_BUDGET = "40 epochs"

# RLIMIT_FSIZE bounds every single file: here the store's log of writes is the first to hit it
_LIMITED = """
import resource, sys
from pathlib import Path
from bhpt.storage import StoreFailed
from bhpt.tuning import Options, Paused, tune
from tests.faults.test_full_disk import _BUDGET, _CONFIGS
from tests.faults.trainers import Net
from tests.study.cases import Greedy

if __name__ == "__main__":
    limit, options = int(sys.argv[2]), Options(grace_s=1.0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        tune(Net, _CONFIGS, _BUDGET, 1, sys.argv[1], 3, policy=Greedy(), options=options)
    except (Paused, StoreFailed) as error:
        print("paused:", error)
"""

# a small tmpfs of our own, in a mount namespace that ends with this process
_SMALL = """
import ctypes, shutil, sys
from pathlib import Path
from bhpt.domain import Misuse
from bhpt.storage import StoreFailed
from bhpt.tuning import Options, Paused, resume, tune
from tests.faults.cases import events_of, sound
from tests.faults.test_full_disk import _BUDGET, _CONFIGS
from tests.faults.trainers import Net
from tests.study.cases import Greedy

if __name__ == "__main__":
    libc = ctypes.CDLL(None, use_errno=True)
    CLONE_NEWNS, MS_PRIVATE_REC = 0x20000, 0x44000
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_PRIVATE_REC, None):
        sys.exit(77)
    place = Path(sys.argv[1])
    if libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", 0, sys.argv[2].encode()):
        sys.exit(77)
    file, how = place / "net.db", {"policy": Greedy(), "options": Options(grace_s=1.0)}
    try:
        tune(Net, _CONFIGS, _BUDGET, 1, file, 3, **how)
    except (Paused, StoreFailed) as error:
        print("paused:", error)
    before = sound(file)
    print(before.reports, "reports")
    if libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", 32, b"size=64m"):  # MS_REMOUNT
        sys.exit(78)
    resume(file, **how)
    for part in [file, file.with_name("net.db.files")]:
        target = Path(sys.argv[3]) / part.name
        shutil.copytree(part, target) if part.is_dir() else shutil.copy(part, target)
"""


def _script(folder: Path, text: str) -> str:
    folder.mkdir()
    (folder / "driver.py").write_text(text)
    return str(folder / "driver.py")


def _whole(tmp_path: Path) -> Path:
    file = tmp_path / "whole.db"
    tune(Net, _CONFIGS, _BUDGET, 1, file, 3, policy=Greedy(), options=Options(grace_s=1.0))
    return file


@pytest.mark.parametrize("limit", [100_000, 180_000])
def test_files_that_may_not_grow_pause_the_study(tmp_path: Path, limit: int) -> None:
    """The smaller limit refuses a checkpoint, the larger one the store."""
    drivers = Drivers()
    file = tmp_path / "net.db"
    driver = drivers.start(_script(tmp_path / "scripts", _LIMITED), str(file), str(limit))
    said, _ = driver.communicate(timeout=120)
    assert driver.returncode == 0, said
    assert said.startswith("paused: "), said
    assert "resume" in said
    eventually(drivers.all_gone, within=20.0)
    assert sound(file).reports < 40
    resume(file, policy=Greedy(), options=Options(grace_s=1.0))
    assert essence(events_of(file)) == essence(events_of(_whole(tmp_path)))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("size", ["size=600k", "size=1000k"])
def test_a_full_disk_pauses_the_study(tmp_path: Path, size: str) -> None:
    drivers = Drivers()
    small, copies = tmp_path / "small", tmp_path / "copies"
    small.mkdir()
    copies.mkdir()
    script = _script(tmp_path / "scripts", _SMALL)
    driver = drivers.start(script, str(small), size, str(copies))
    said, _ = driver.communicate(timeout=120)
    if driver.returncode == 77:
        pytest.skip("this machine does not let us mount")
    assert driver.returncode == 0, said
    assert said.startswith("paused: "), said
    assert "resume" in said
    eventually(drivers.all_gone, within=20.0)
    file = copies / "net.db"
    assert sound(file).ledger.spent == 40
    assert essence(events_of(file)) == essence(events_of(_whole(tmp_path)))
