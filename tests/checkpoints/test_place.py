"""The contract over every place for checkpoints, and a crash at the very end of a commit."""

import errno
import os
from pathlib import Path

import pytest

from bhpt.checkpoints import (
    CheckpointPlace,
    DiskFull,
    Draft,
    Generation,
    LocalFolder,
    RemoteFolder,
)
from bhpt.testing import CheckpointPlaceContract
from bhpt.testing.checkpoint_places import write_draft
from tests.checkpoints.far_place import FarPlace


def _in_memory(near: Path) -> CheckpointPlace:
    return RemoteFolder(f"memory://{near}", near, "me")


def _mounted(near: Path) -> CheckpointPlace:
    return RemoteFolder(f"file://{near.parent / 'far'}", near, "me")


PLACES = [LocalFolder, FarPlace, _in_memory, _mounted]


def _made(request: pytest.FixtureRequest, folder: Path) -> CheckpointPlace:
    made: CheckpointPlace = request.param(folder / "near")
    return made


class TestPlaces(CheckpointPlaceContract):
    @pytest.fixture(params=PLACES)
    def place(self, request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointPlace:
        return _made(request, tmp_path)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointPlace:
    made = _made(request, tmp_path)
    assert made.contents() == frozenset()
    return made


def test_a_commit_that_fails_at_the_very_end_leaves_a_draft(
    place: CheckpointPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, generation = Draft(0, 0), Generation(0, 1)
    write_draft(place, draft)
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
