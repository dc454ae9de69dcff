"""Checkpoints through an object store, with a list in place of Ray's."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bhpt.checkpoints.manifest import FILES, is_whole, seal
from bhpt.executors import ray_parcel
from bhpt.executors.ray_parcel import pack, unpack


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was put into the object store; a reference is a place in it."""
    chunks: list[bytes] = []

    def put(content: bytes) -> int:
        chunks.append(content)
        return len(chunks) - 1

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(put=put, get=chunks.__getitem__))
    monkeypatch.setattr(ray_parcel, "_CHUNK", 4)
    return chunks


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A checkpoint with an empty file, one of several chunks and one in a folder."""
    files = tmp_path / "sealed" / FILES
    (files / "inner").mkdir(parents=True)
    (files / "empty").touch()
    (files / "long").write_bytes(b"0123456789")
    (files / "inner" / "short").write_bytes(b"ab")
    seal(files)
    return files.parent


def test_a_checkpoint_arrives_as_it_was_sent(
    sent: list[bytes], sealed: Path, tmp_path: Path
) -> None:
    parcel = pack(sealed)
    assert max(map(len, sent)) == 4
    unpack(parcel, tmp_path / "arrived")
    assert is_whole(tmp_path / "arrived", parcel.digest)
    assert (tmp_path / "arrived" / FILES / "long").read_bytes() == b"0123456789"


@pytest.mark.usefixtures("sent")
def test_what_was_there_is_replaced(sealed: Path, tmp_path: Path) -> None:
    (tmp_path / "arrived" / FILES).mkdir(parents=True)
    (tmp_path / "arrived" / FILES / "old").touch()
    parcel = pack(sealed)
    unpack(parcel, tmp_path / "arrived")
    assert is_whole(tmp_path / "arrived", parcel.digest)


def test_a_damaged_file_is_refused(sent: list[bytes], sealed: Path, tmp_path: Path) -> None:
    parcel = pack(sealed)
    sent[sent.index(b"ab")] = b"ba"
    with pytest.raises(ValueError, match="'inner/short' arrived damaged"):
        unpack(parcel, tmp_path / "arrived")
    assert not is_whole(tmp_path / "arrived", parcel.digest)


@pytest.mark.usefixtures("sent")
def test_a_damaged_manifest_is_refused(sealed: Path, tmp_path: Path) -> None:
    parcel = replace(pack(sealed), manifest=b"{}")
    with pytest.raises(ValueError, match="the manifest arrived damaged"):
        unpack(parcel, tmp_path / "arrived")
    assert not (tmp_path / "arrived").exists()
