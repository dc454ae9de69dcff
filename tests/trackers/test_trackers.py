"""Every tracker: one run an arm, epochs at their steps, and runs that go on in a later session."""

from pathlib import Path

import pytest

from bhpt.spaces.declared import declared_by
from bhpt.trackers import TrackedStudy, find_tracker
from bhpt.trackers.thread import TrackedRuns
from tests.trackers import cases

KINDS = [
    pytest.param("tensorboard", "tensorboard", "{}", cases.read_tensorboard, id="tensorboard"),
    pytest.param(
        "mlflow",
        "mlflow",
        "sqlite:///{}",
        cases.read_mlflow,
        id="mlflow",
        marks=pytest.mark.slow,
    ),
    pytest.param("optuna", "optuna", "{}", cases.read_optuna, id="optuna"),
    pytest.param("wandb", "wandb", "{}", cases.read_wandb, id="wandb", marks=pytest.mark.slow),
]
pytestmark = pytest.mark.filterwarnings("default")  # those of the packages are theirs


@pytest.mark.parametrize(("package", "name", "place", "read"), KINDS)
def test_runs_go_on_where_an_earlier_session_ended(
    package: str, name: str, place: str, read: cases.Reader, tmp_path: Path
) -> None:
    pytest.importorskip(package)
    where = tmp_path / "tracked"
    study = cases.study()
    plan = study.state.plan
    for units in (4, 3):
        state = cases.train(study, units)
        runs = TrackedRuns(
            find_tracker(f"{name}:{place.format(where)}"),
            TrackedStudy("my net", "abcdef123", plan, declared_by(cases.CONFIGS)),
        )
        runs.update(state)
        state = cases.train(study, 1)
        runs.update(state)
        runs.close()
        found = read(where)
        assert found.keys() == cases.expected(state).keys()
        for arm, curve in cases.expected(state).items():
            assert found[arm] == {at: pytest.approx(row, rel=1e-6) for at, row in curve.items()}


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
