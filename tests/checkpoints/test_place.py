"""One suite over every place where checkpoints may lie."""

import errno
import os
from pathlib import Path

import pytest

from bhpt.checkpoints import (
    CheckpointPlace,
    CheckpointStore,
    DiskFull,
    Draft,
    Generation,
    LocalFolder,
    RemoteFolder,
    UnsafeCheckpoint,
)
from tests.checkpoints.far_place import FarPlace


def _in_memory(near: Path) -> CheckpointPlace:
    return RemoteFolder(f"memory://{near}", near, "me")


def _mounted(near: Path) -> CheckpointPlace:
    return RemoteFolder(f"file://{near.parent / 'far'}", near, "me")


@pytest.fixture(params=[LocalFolder, FarPlace, _in_memory, _mounted])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointPlace:
    made: CheckpointPlace = request.param(tmp_path / "near")
    assert made.contents() == frozenset()
    return made


def _write(place: CheckpointPlace, draft: Draft, text: str = "weights") -> None:
    folder = place.begin(draft)
    (folder / "inside").mkdir()
    (folder / "inside" / "net").write_text(text)


def test_what_is_committed_can_be_fetched(place: CheckpointPlace) -> None:
    _write(place, Draft(3, 7))
    seal = place.commit(Draft(3, 7), Generation(3, 1))
    assert seal.bytes == len("weights")
    for digest in (None, seal.digest):
        files = place.fetch(Generation(3, 1), digest)
        assert (files.name, (files / "inside" / "net").read_text()) == ("files", "weights")
    assert place.contents() == {Generation(3, 1)}


def test_a_wrong_digest_and_a_missing_generation_are_found_out(place: CheckpointPlace) -> None:
    _write(place, Draft(0, 0))
    place.commit(Draft(0, 0), Generation(0, 1))
    with pytest.raises(ValueError, match="not the one in the study's log"):
        place.fetch(Generation(0, 1), "0" * 64)
    with pytest.raises((ValueError, OSError)):
        place.fetch(Generation(0, 2), "0" * 64)


def test_a_draft_counts_for_nothing(place: CheckpointPlace) -> None:
    _write(place, Draft(0, 0), "first")
    _write(place, Draft(1, 1))
    place.remove(Draft(1, 1))
    place.remove(Draft(1, 1))
    assert place.contents() == frozenset()
    assert not any(place.begin(Draft(0, 0)).iterdir())


def test_a_link_is_not_committed(place: CheckpointPlace) -> None:
    (place.begin(Draft(0, 0)) / "link").symlink_to("/etc/passwd")
    with pytest.raises(UnsafeCheckpoint):
        place.commit(Draft(0, 0), Generation(0, 1))
    assert place.contents() == frozenset()


def test_a_commit_that_fails_at_the_very_end_leaves_a_draft(
    place: CheckpointPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, generation = Draft(0, 0), Generation(0, 1)
    _write(place, draft)
    calls = iter([False] * 5 + [True] * 9)  # the seal is written, the new name is not

    def full(_descriptor: int) -> None:
        if next(calls):
            raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DiskFull):
            place.commit(draft, generation)
    assert place.commit(draft, generation).bytes == len("weights")
    assert place.contents() == {generation}


def test_removing_removes_only_that(place: CheckpointPlace) -> None:
    for number in (1, 2):
        _write(place, Draft(5, number), str(number))
        place.commit(Draft(5, number), Generation(5, number))
    place.remove(Generation(5, 1))
    place.remove(Generation(5, 1))
    assert place.contents() == {Generation(5, 2)}
    assert (place.fetch(Generation(5, 2)) / "inside" / "net").read_text() == "2"


def test_a_store_keeps_its_books_over_any_place(place: CheckpointPlace) -> None:
    store = CheckpointStore(place)
    made = []
    for attempt in range(4):
        _write(place, Draft(1, attempt), str(attempt))
        made.append(store.commit(1, attempt, epochs=attempt + 1))
        store.settled(made[-1])
    store.finish()
    assert place.contents() == {Generation(1, 3), Generation(1, 4)}
    again = CheckpointStore(place, made[:3])
    assert again.held == (made[2],)
    thawed = again.thaw(1)
    assert thawed.folder is not None
    assert (thawed.folder / "inside" / "net").read_text() == "2"
    assert place.contents() == {Generation(1, 3)}
