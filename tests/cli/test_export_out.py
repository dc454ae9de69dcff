"""`bhpt export --out`: plain files whole or not at all; pipes and devices are written to."""

import os
import stat
import threading
from pathlib import Path

import pytest

from bhpt.cli.export import write_whole
from bhpt.domain import Misuse


def _fill(content: bytes) -> object:
    return lambda file: file.write_bytes(content)


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, _fill(b"rows\n"))  # type: ignore[arg-type]
    reader.join(30)
    assert read == [b"rows\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]  # noqa: PTH208


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("devices cannot be made here")
    write_whole(device, _fill(b"rows\n"))  # type: ignore[arg-type]
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_link_still_leads_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_whole(tmp_path / "link.csv", _fill(b"new"))  # type: ignore[arg-type]
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_what_fails_half_way_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")

    def fail(file: Path) -> None:
        file.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(Misuse, match="No space"):
        write_whole(tmp_path / "a.csv", fail)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.csv": "old"}


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="folder"):
        write_whole(tmp_path, _fill(b""))  # type: ignore[arg-type]
