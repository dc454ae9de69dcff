"""Jobs for a GPU, tried here with few examples on whatever there is."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from bhpt.bench.live import gpu_data
from bhpt.bench.live.gpu_jobs import GPU
from bhpt.bench.live.job import LiveJob
from bhpt.bench.live.jobs import find, missing, trainer_class
from bhpt.spaces import Space
from bhpt.testing import TrainerContract
from bhpt.testing.trainers import MakeTrainer
from bhpt.trainers.four_methods import FourMethods

_MAKERS = (gpu_data.glyphs, gpu_data.chaos, gpu_data.sources, gpu_data.graphs)
_TINY = {"width": 8, "hidden_size": 8, "head_dim": 8, "hidden_channels": 8, "batch_size": 48}


def test_first_configurations_lie_in_their_spaces_and_names_are_found() -> None:
    for job in GPU:
        assert 6 <= len(job.space) <= 8
        Space.of(job.space).check(job.first)
        assert find(job.name) is job


@pytest.mark.parametrize("make", _MAKERS)
def test_examples_are_the_same_each_time_and_none_is_twice(
    make: Callable[[int, int], gpu_data.Examples],
) -> None:
    made, again = make(60, 20), make(60, 20)
    assert made.train == 60
    assert len(made.x) == len(made.y) == 80
    assert np.isfinite(made.x).all()
    assert np.isfinite(made.y).all()
    assert np.array_equal(made.x, again.x)
    assert np.array_equal(made.y, again.y)
    assert len(np.unique(made.x.reshape(80, -1), axis=0)) == 80


def test_graphs_are_plain_and_each_structure_has_any_number_of_edges() -> None:
    made = gpu_data.graphs(400, 0)
    near = made.x[..., : gpu_data.NODES]
    assert set(np.unique(near)) == {0.0, 1.0}
    assert np.array_equal(near, near.transpose(0, 2, 1))
    assert not np.trace(near, axis1=1, axis2=2).any()
    edges = near.sum(axis=(1, 2)) / 2
    means = [edges[made.y == one].mean() for one in range(gpu_data.STRUCTURES)]
    assert 33 < min(means) <= max(means) < 39


@pytest.fixture(params=GPU, ids=lambda job: job.name)
def job(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LiveJob:
    """A job with few examples."""
    chosen = cast("LiveJob", request.param)
    if missing(chosen) is not None:
        pytest.skip(f"{chosen.package} is not installed")
    made = trainer_class(chosen)
    monkeypatch.setattr(made, "train", 96)
    monkeypatch.setattr(made, "held", 40)
    return chosen


def _trainer(job: LiveJob, **changes: float) -> FourMethods:
    tiny = {name: value for name, value in _TINY.items() if name in job.space}
    return cast("FourMethods", trainer_class(job)({**job.first, **tiny, **changes}))


class TestGpuJob(TrainerContract):
    tolerance = 1e-4
    calls = 2

    @pytest.fixture
    def make_trainer(self, job: LiveJob) -> MakeTrainer:
        return lambda: _trainer(job)


def test_a_gpu_job_learns(job: LiveJob) -> None:
    trainer = _trainer(job, lr=0.01)
    losses = [cast("float", trainer.step()) for _ in range(8)]
    assert min(losses[4:]) < losses[0]


def test_a_training_that_diverged_says_nan_and_can_be_frozen(job: LiveJob, tmp_path: Path) -> None:
    trainer = _trainer(job, lr=math.inf)
    assert math.isnan(cast("float", [trainer.step() for _ in range(2)][-1]))
    trainer.save(tmp_path)
    again = _trainer(job, lr=math.inf)
    again.load(tmp_path)
    assert math.isnan(cast("float", again.step()))


@pytest.mark.parametrize("optimizer", find("gpu-graph").space["optimizer"])
def test_each_optimiser_trains(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = find("gpu-graph")
    if missing(job) is not None:
        pytest.skip(f"{job.package} is not installed")
    made = trainer_class(job)
    monkeypatch.setattr(made, "train", 96)
    monkeypatch.setattr(made, "held", 40)
    trainer = made({**job.first, "optimizer": optimizer, "hidden_channels": 8})
    assert math.isfinite(trainer.step())
