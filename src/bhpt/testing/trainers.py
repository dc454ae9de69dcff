"""What a class with four methods promises: a frozen training that is thawed goes on as it was."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bhpt.trainers.four_methods import FourMethods

MakeTrainer = Callable[[], FourMethods]


class TrainerContract:
    """Tests of a trainer class. Override the fixture `make_trainer`.

    Attributes:
        tolerance: Relative difference that two losses may have and be called equal.
        calls: Calls of `step` on each side of a freeze.
    """

    tolerance: float = 1e-6
    calls: int = 2

    @pytest.fixture
    def make_trainer(self) -> MakeTrainer:
        """Makes a new trainer, always with the same configuration."""
        raise NotImplementedError("override the fixture `make_trainer`")

    def test_a_thawed_trainer_goes_on_as_if_nothing_had_happened(
        self, make_trainer: MakeTrainer, tmp_path: Path
    ) -> None:
        """The losses after `save` and `load` are those of a trainer that was never frozen."""
        whole = self._steps(make_trainer(), 2 * self.calls)
        first = make_trainer()
        before = self._steps(first, self.calls)
        first.save(tmp_path)
        second = make_trainer()
        second.load(tmp_path)
        after = self._steps(second, self.calls)
        self._same(before + after, whole)

    def test_freezing_does_not_disturb_the_training(
        self, make_trainer: MakeTrainer, tmp_path: Path
    ) -> None:
        """A trainer that stays alive is frozen after every unit and goes on."""
        whole = self._steps(make_trainer(), 2 * self.calls)
        trainer = make_trainer()
        before = self._steps(trainer, self.calls)
        trainer.save(tmp_path)
        self._same(before + self._steps(trainer, self.calls), whole)

    def test_a_checkpoint_is_plain_files(self, make_trainer: MakeTrainer, tmp_path: Path) -> None:
        """Links would lead out of the checkpoint, which is copied, hashed and removed as one."""
        trainer = make_trainer()
        self._steps(trainer, 1)
        trainer.save(tmp_path)
        made = list(tmp_path.rglob("*"))
        assert made, "save wrote nothing into its folder"
        for path in made:
            assert not path.is_symlink()
            assert path.is_file() or path.is_dir()

    def _steps(self, trainer: FourMethods, calls: int) -> list[object]:
        return [trainer.step() for _ in range(calls)]

    def _same(self, got: list[object], wanted: list[object]) -> None:
        for one, other in zip(got, wanted, strict=True):
            assert one == pytest.approx(other, rel=self.tolerance, nan_ok=True)
