"""Trackers beside real sessions."""

from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.tuning import Options, resume, tune
from tests.study.cases import Greedy
from tests.trackers.test_tracking import Broken, Recorder
from tests.tuning.trainers import Net

_CONFIGS = [{"x": value / 10} for value in range(3)]
_QUICK = Options(grace_s=1.0)


def test_runs_go_on_when_a_study_is_resumed(tmp_path: Path) -> None:
    file, recorder = tmp_path / "net.db", Recorder()
    tune(
        Net,
        _CONFIGS,
        "4 epochs",
        1,
        file,
        max_epochs=4,
        policy=Greedy(),
        options=_QUICK,
        track=[recorder],
    )
    assert recorder.begun is not None
    assert recorder.begun.name == "net"
    assert (len(recorder.rows), recorder.closed) == (4, 1)
    held = {arm: epoch for arm, epoch, _ in recorder.rows}
    later = Recorder(held)
    result = resume(file, "3 epochs", policy=Greedy(), options=_QUICK, track=[later])
    assert later.begun is not None
    assert later.begun.identity == recorder.begun.identity
    assert len(later.rows) == 3
    found = {(arm, epoch): row["loss"] for arm, epoch, row in recorder.rows + later.rows}
    assert result.state.curves is not None
    for arm in result.state.curves.visited.tolist():
        curve = result.state.curves.of_arm(arm).tolist()
        assert curve == [found[arm, epoch] for epoch in range(1, len(curve) + 1)]


def test_a_session_goes_on_without_a_tracker_that_fails(tmp_path: Path) -> None:
    notes: list[str] = []
    result = tune(
        Net,
        _CONFIGS,
        "3 epochs",
        study=tmp_path / "net.db",
        policy=Greedy(),
        options=_QUICK,
        track=[Broken()],
        note=notes.append,
    )
    assert result.state.ledger.spent == 3
    assert len(notes) == 1


def test_an_unknown_tracker_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="there is no tracker 'tensorbord'"):
        tune(Net, _CONFIGS, "3 epochs", study=tmp_path / "net.db", track=["tensorbord"])
    assert not list(tmp_path.iterdir())
