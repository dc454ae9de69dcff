"""The contract of trainer classes, over one that keeps it and others that do not."""

import random
from ast import literal_eval
from pathlib import Path

import pytest

from bhpt.testing import TrainerContract
from bhpt.testing.trainers import MakeTrainer


class Walk:
    def __init__(self) -> None:
        self.loss = 1.0
        self.rng = random.Random(0)

    def step(self) -> object:
        self.loss -= 0.1 * self.rng.random()
        return {"loss": self.loss}

    def save(self, folder: Path) -> None:
        state = (self.loss, self.rng.getstate())
        (folder / "state").write_text(repr(state))

    def load(self, folder: Path) -> None:
        self.loss, state = literal_eval((folder / "state").read_text())
        self.rng.setstate(state)


class Forgetful(Walk):
    """Its random numbers begin anew."""

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.rng = random.Random(0)


class Disturbed(Walk):
    """Freezing takes a random number."""

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.rng.random()


class Linked(Walk):
    def save(self, folder: Path) -> None:
        super().save(folder)
        (folder / "link").symlink_to(folder / "state")


class Unwritten(Walk):
    def save(self, folder: Path) -> None:
        """Nothing is written."""


class TestWalk(TrainerContract):
    @pytest.fixture
    def make_trainer(self) -> MakeTrainer:
        return Walk


def test_each_fault_is_found(tmp_path: Path) -> None:
    suite = TrainerContract()
    for faulty, found in (
        (Forgetful, suite.test_a_thawed_trainer_goes_on_as_if_nothing_had_happened),
        (Disturbed, suite.test_freezing_does_not_disturb_the_training),
        (Linked, suite.test_a_checkpoint_is_plain_files),
        (Unwritten, suite.test_a_checkpoint_is_plain_files),
    ):
        folder = tmp_path / faulty.__name__
        folder.mkdir()
        with pytest.raises(AssertionError):
            found(faulty, folder)
