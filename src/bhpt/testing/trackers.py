"""What a tracker promises: one run an arm, epochs at their steps, runs that go on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bhpt.spaces import infer_ranges
from bhpt.study import State
from bhpt.study.study import Study
from bhpt.trackers.interface import TrackedStudy, Tracker
from bhpt.trackers.thread import TrackedRuns

MakeTracker = Callable[[Path], Tracker]
TrackedCurves = dict[int, dict[int, float]]
"""Values of the metric by arm and epoch."""

CONFIGS = ({"rate": 0.1, "kind": "a"}, {"rate": 0.2, "kind": "b"}, {"rate": 0.3, "kind": "a"})
"""The configurations of the study that is tracked; its metric is rate × epoch, maximised."""


class TrackerContract:
    """Tests of a tracker. Override the fixtures `make_tracker` and `read_curves`.

    Attributes:
        tolerance: Relative difference that two values may have and be called equal.
    """

    tolerance: float = 1e-6

    @pytest.fixture
    def make_tracker(self) -> MakeTracker:
        """Makes a tracker that writes to a place, which may not exist yet."""
        raise NotImplementedError("override the fixture `make_tracker`")

    @pytest.fixture
    def read_curves(self) -> Callable[[Path], TrackedCurves]:
        """Reads what is in a place: values of the metric `acc` by arm and epoch."""
        raise NotImplementedError("override the fixture `read_curves`")

    def test_runs_go_on_where_an_earlier_session_ended(
        self,
        make_tracker: MakeTracker,
        read_curves: Callable[[Path], TrackedCurves],
        tmp_path: Path,
    ) -> None:
        """Two sessions, each of which writes what is there and what comes."""
        place, study = tmp_path / "tracked", study_to_track()
        for units in (4, 3):
            state = train_units(study, units)
            runs = TrackedRuns(make_tracker(place), _about(state))
            runs.update(state)
            state = train_units(study, 1)
            runs.update(state)
            runs.close()
            self._same(read_curves(place), state)

    def test_what_is_there_is_not_written_again(
        self,
        make_tracker: MakeTracker,
        read_curves: Callable[[Path], TrackedCurves],
        tmp_path: Path,
    ) -> None:
        """A session without news changes no curve."""
        place, state = tmp_path / "tracked", train_units(study_to_track(), 5)
        for _ in range(2):
            runs = TrackedRuns(make_tracker(place), _about(state))
            runs.update(state)
            runs.update(state)
            runs.close()
        self._same(read_curves(place), state)

    def _same(self, found: TrackedCurves, state: State) -> None:
        assert state.curves is not None
        for arm in state.curves.visited.tolist():
            values = [-loss for loss in state.curves.of_arm(arm).tolist()]
            expected = dict(enumerate(values, start=1))
            assert found[arm] == pytest.approx(expected, rel=self.tolerance)
        assert len(found) == len(state.curves.visited)


def study_to_track() -> Study:
    """A study of three arms that reports a metric that rises and another one."""
    configs = [dict(config) for config in CONFIGS]
    return Study(configs, "9 epochs", max_epochs=3, policy="random", metric="acc", mode="max")


def _about(state: State) -> TrackedStudy:
    return TrackedStudy("my net", "abcdef123456", state.plan, infer_ranges(CONFIGS))


def train_units(study: Study, units: int) -> State:
    """Train some units, and the state after them."""
    for _ in range(units):
        unit = study.ask()
        assert unit is not None
        epochs = range(unit.done + 1, unit.done + unit.epochs + 1)
        study.tell(unit, [{"acc": unit.config["rate"] * at, "step": at} for at in epochs])
    return study.state
