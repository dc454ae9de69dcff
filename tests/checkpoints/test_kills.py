"""Kill the process before every system call of a commit, and recover."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = """
import json, os, signal, sys
from dataclasses import asdict
from pathlib import Path
from bhpt.checkpoints import Checkpoint, CheckpointStore, LocalFolder

calls, fatal = 0, 0

def deadly(name):
    real = getattr(os, name)
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    setattr(os, name, call)

def read(log):
    lines = log.read_text().splitlines() if log.exists() else []
    return [Checkpoint(**json.loads(line)) for line in lines]

def append(log, checkpoint):  # stands for the study's transaction
    text = log.read_text() if log.exists() else ""
    fresh = log.with_suffix(".new")
    fresh.write_text(text + json.dumps(asdict(checkpoint)) + "\\n")
    os.replace(fresh, log)

def live(root, log):
    store = CheckpointStore(LocalFolder(root), read(log), generations=1)
    for epochs in range(len(read(log)) + 1, 3):
        folder = store.begin(0, epochs)
        (folder / "model").write_text(f"weights {epochs}")
        (folder / "sub").mkdir()
        (folder / "sub" / "more").write_text("more")
        checkpoint = store.commit(0, epochs, epochs)
        append(log, checkpoint)
        store.settled(checkpoint)
        store.finish()

def killed(root, log, at):
    global calls, fatal
    child = os.fork()
    if child == 0:
        calls, fatal = 0, at
        live(root, log)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

top = Path(sys.argv[1])
for name in ("mkdir", "fsync", "rename", "replace", "unlink", "rmdir", "open", "scandir", "chmod"):
    deadly(name)
live(top / "whole", top / "whole.log")
expected, moments = read(top / "whole.log"), calls
for at in range(1, moments + 1):
    root, log = top / f"kill-{at}", top / f"kill-{at}.log"
    assert killed(root, log, at) == -signal.SIGKILL, at
    logged = read(log)
    assert logged == expected[: len(logged)]
    thawed = CheckpointStore(LocalFolder(root), logged, generations=1).thaw(0)
    assert thawed.damaged == ()
    assert thawed.checkpoint == (logged[-1] if logged else None)
    live(root, log)
    assert read(log) == expected
    assert [folder.name for folder in (root / "arm-000000").iterdir()] == ["gen-000002"]
print(moments)
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_kill_at_any_moment_loses_nothing_that_was_logged(tmp_path: Path) -> None:
    done = run(KILLS, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


def test_a_file_size_limit_while_saving_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from bhpt.checkpoints import CheckpointStore, DiskFull, LocalFolder, is_disk_full
store = CheckpointStore(LocalFolder(Path(sys.argv[1])))
(store.begin(0, 1) / "model").write_bytes(b"x" * 100)
first = store.commit(0, 1, 1)
store.settled(first)
folder = store.begin(0, 2)
for i in range(400):
    (folder / f"{i:04d}").write_bytes(b"y" * 10)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    store.commit(0, 2, 2)  # the manifest of 400 files does not fit
except DiskFull as error:
    print(error)
    try:
        (folder / "big").write_bytes(b"z" * 10_000)
    except OSError as full:
        assert is_disk_full(full)
        assert store.thaw(0).checkpoint == first
        print("kept")
"""
    done = run(script, str(tmp_path / "root"))
    assert done.returncode == 0, done.stderr
    assert "free some space" in done.stdout
    assert done.stdout.endswith("kept\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_keeps_the_old_checkpoint(tmp_path: Path) -> None:
    script = """
import ctypes, os, sys
from pathlib import Path
from bhpt.checkpoints import CheckpointStore, DiskFull, LocalFolder, is_disk_full
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_PRIVATE_REC = 0x20000, 0x44000
target = sys.argv[1].encode()
if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_PRIVATE_REC, None):
    sys.exit(77)
if libc.mount(b"tmpfs", target, b"tmpfs", 0, b"size=64k"):
    sys.exit(77)
store = CheckpointStore(LocalFolder(Path(sys.argv[1]) / "files"))
(store.begin(0, 1) / "model").write_bytes(b"x" * 20_000)
first = store.commit(0, 1, 1)
store.settled(first)
folder = store.begin(0, 2)
try:
    (folder / "model").write_bytes(b"y" * 100_000)
except OSError as error:
    assert is_disk_full(error)
try:
    store.commit(0, 2, 2)
except DiskFull:
    print("full")
store.discard(0, 2)
again = CheckpointStore(LocalFolder(Path(sys.argv[1]) / "files"), [first])
assert again.thaw(0).checkpoint == first
(again.begin(0, 3) / "model").write_bytes(b"z" * 20_000)
again.settled(again.commit(0, 3, 2))
assert again.thaw(0).checkpoint.generation == 2
"""
    done = run(script, str(tmp_path))
    if done.returncode == 77:
        pytest.skip("this machine does not let us mount")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "full\n"
