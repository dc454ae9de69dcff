"""Trackers beside a study: found by name, fed from the log, and never in its way."""

import threading
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from bhpt.domain import Misuse
from bhpt.trackers import ArmRun, TrackedStudy, find_tracker, tracker_names, tracking
from tests.trackers import cases


class Recorder:
    """Keeps what it is told."""

    def __init__(self, held: dict[int, int] | None = None) -> None:
        self.held = held or {}
        self.asked: list[int] = []
        self.rows: list[tuple[int, int, dict[str, float]]] = []
        self.begun: TrackedStudy | None = None
        self.closed = 0

    def begin(self, study: TrackedStudy) -> None:
        self.begun = study

    def epochs(self, arm: int) -> int:
        self.asked.append(arm)
        return self.held.get(arm, 0)

    def write(self, run: ArmRun) -> None:
        self.rows += [(run.arm, epoch, dict(metrics)) for epoch, metrics in run]

    def close(self) -> None:
        self.closed += 1


class Broken(Recorder):
    def write(self, run: ArmRun) -> None:
        raise ConnectionError(f"no\nserver for arm {run.arm}")


def test_everything_is_written_once_however_states_come() -> None:
    study, recorder, notes = cases.study(), Recorder(), []  # type: ignore[var-annotated]
    state = study.state
    with tracking([recorder], TrackedStudy("net", "abc", state.plan), notes.append) as offer:
        for _ in range(7):
            offer(study.state)
            state = cases.train(study, 1)
        offer(state)
    written = {(arm, epoch): row for arm, epoch, row in recorder.rows}
    assert len(written) == len(recorder.rows) == 7
    expected = cases.expected(state)
    for (arm, epoch), row in written.items():
        assert row == pytest.approx(expected[arm][epoch])
    assert (recorder.closed, notes) == (1, [])
    assert sorted(recorder.asked) == sorted(expected)


def test_only_what_a_run_lacks_is_written() -> None:
    state = cases.train(cases.study(), 8)
    assert state.curves is not None
    held = {arm: state.count(arm) - 1 for arm in state.curves.visited.tolist()}
    recorder = Recorder(held)
    with tracking([recorder], TrackedStudy("net", "abc", state.plan), print) as offer:
        offer(state)
    assert {(arm, epoch) for arm, epoch, _ in recorder.rows} == {
        (arm, count + 1) for arm, count in held.items()
    }


def test_a_tracker_that_fails_is_left_out_and_said() -> None:
    state, broken, well, notes = cases.train(cases.study(), 3), Broken(), Recorder(), []  # type: ignore[var-annotated]
    about = TrackedStudy("net", "abc", state.plan)
    with tracking([broken, well], about, notes.append) as offer:
        offer(state)
    assert len(well.rows) == 3
    assert broken.closed == 1
    (note,) = notes
    assert note.startswith("note: Broken failed and was left out (ConnectionError: no server for")
    assert "\n" not in note


def test_a_tracker_that_hangs_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bhpt.trackers.thread._CLOSING_S", 0.05)
    go = threading.Event()

    class Hanging(Recorder):
        def write(self, run: ArmRun) -> None:
            go.wait()
            super().write(run)

    state, notes = cases.train(cases.study(), 3), []  # type: ignore[var-annotated]
    with tracking([Hanging()], TrackedStudy("net", "abc", state.plan), notes.append) as offer:
        offer(state)
    go.set()
    assert notes == ["note: Hanging has not written everything after 0.05 s"]


def test_names_are_plain_and_differ() -> None:
    plan = cases.study().state.plan
    assert TrackedStudy("my net/é:1", "0123456789", plan).label == "my-net-é-1-01234567"
    assert TrackedStudy("a", "x1", plan).label != TrackedStudy("a", "x2", plan).label


def test_others_are_found_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints(
        [
            EntryPoint("mine", f"{__name__}:made", "bhpt.trackers"),
            EntryPoint("gone", "no_such_package:Tracker", "bhpt.trackers"),
        ]
    )
    monkeypatch.setattr("bhpt.trackers.registry.entry_points", lambda **_: points)
    assert {"mine", "tensorboard", "mlflow", "wandb"} <= set(tracker_names())
    assert find_tracker("mine:over:there") is MADE["over:there"]
    with pytest.raises(Misuse, match=r"'gone' needs a package .*no_such_package.*pip install"):
        find_tracker("gone")
    with pytest.raises(Misuse, match="there is no tracker 'other': use one of gone, m"):
        find_tracker("other")
    with pytest.raises(Misuse, match="int is no tracker: it needs begin, epochs, write, close"):
        find_tracker(3)
    with pytest.raises(Misuse, match="no tracker"):
        find_tracker(Recorder)


MADE: dict[str, Recorder] = {}


def made(place: str) -> Recorder:
    return MADE.setdefault(place, Recorder())
