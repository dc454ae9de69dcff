"""Every tracker keeps the contract of trackers; what it wrote is read with its own package."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bhpt.testing import TrackerContract
from bhpt.testing.trackers import MakeTracker, TrackedCurves
from bhpt.trackers import TrackedStudy, find_tracker
from bhpt.trackers.thread import TrackedRuns
from tests.trackers import cases

pytestmark = pytest.mark.filterwarnings("default")  # those of the packages are theirs


class TestTensorBoard(TrackerContract):
    @pytest.fixture
    def make_tracker(self) -> MakeTracker:
        pytest.importorskip("tensorboard")
        return lambda place: find_tracker(f"tensorboard:{place}")

    @pytest.fixture
    def read_curves(self) -> Callable[[Path], TrackedCurves]:
        return cases.values_of(cases.read_tensorboard)


class TestOptuna(TrackerContract):
    @pytest.fixture
    def make_tracker(self) -> MakeTracker:
        pytest.importorskip("optuna")
        return lambda place: find_tracker(f"optuna:{place}")

    @pytest.fixture
    def read_curves(self) -> Callable[[Path], TrackedCurves]:
        return cases.values_of(cases.read_optuna)


@pytest.mark.slow
class TestMLflow(TrackerContract):
    @pytest.fixture
    def make_tracker(self) -> MakeTracker:
        pytest.importorskip("mlflow")
        return lambda place: find_tracker(f"mlflow:sqlite:///{place}")

    @pytest.fixture
    def read_curves(self) -> Callable[[Path], TrackedCurves]:
        return cases.values_of(cases.read_mlflow)


@pytest.mark.slow
class TestWeightsAndBiases(TrackerContract):
    @pytest.fixture
    def make_tracker(self) -> MakeTracker:
        pytest.importorskip("wandb")
        return lambda place: find_tracker(f"wandb:{place}")

    @pytest.fixture
    def read_curves(self) -> Callable[[Path], TrackedCurves]:
        return cases.values_of(cases.read_wandb)


def test_a_file_that_a_kill_has_cut_short_harms_nothing(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    study, named = cases.study(), "abcdef123"
    state = cases.train(study, 2)
    about = TrackedStudy("net", named, state.plan)
    first = TrackedRuns(find_tracker(f"tensorboard:{tmp_path}"), about)
    first.update(state)
    for file in tmp_path.glob("*/*/events*"):
        file.write_bytes(file.read_bytes()[:-5])
        file.rename(file.with_name("events.out.tfevents.0000000001.a.1.bhpt"))
    state = cases.train(study, 3)
    later = TrackedRuns(find_tracker(f"tensorboard:{tmp_path}"), about)
    later.update(state)
    found = cases.read_tensorboard(tmp_path)
    for arm, curve in cases.expected(state).items():
        assert found[arm] == {at: pytest.approx(row, rel=1e-6) for at, row in curve.items()}
