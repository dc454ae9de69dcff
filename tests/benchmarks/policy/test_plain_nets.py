"""Small networks in plain numpy."""

from typing import Any

import numpy as np
import pytest
from benchmarks.policy.jobs import plain_nets
from benchmarks.policy.jobs.data import Tabular
from benchmarks.policy.jobs.job import log_loss, squared

RATE = 0.1


def data(classes: int) -> Tabular:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 3))
    y = rng.integers(classes, size=12).astype(np.float64) if classes else rng.standard_normal(12)
    return Tabular(x, y, x, y, classes, "few")


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid"])
def test_an_epoch_of_one_batch_goes_down_the_slope_of_the_loss(
    classes: int, activation: str
) -> None:
    config: dict[str, Any] = {
        "learning_rate": RATE,
        "activation": activation,
        "hidden": 4,
        "layers": 2,
        "batch_size": 12,
        "decay": 0.05,
    }
    given = data(classes)
    before, after = (plain_nets._Network(config, given, 1) for _ in range(2))
    after.epoch()

    def loss() -> float:
        out = before._layers(given.x)[-1]
        if classes:
            return log_loss(given.y, out)
        return squared(given.y, out[:, 0]) / 2  # half of it, as usual in gradients

    for values, moved in zip(before._weights, after._weights, strict=True):
        slope = np.zeros_like(values)
        for at in np.ndindex(values.shape):
            kept, ends = values[at], []
            for by in (1e-6, -1e-6):
                values[at] = kept + by
                ends.append(loss())
            values[at] = kept
            slope[at] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(moved, values - RATE * (slope + 0.05 * values), atol=1e-6)


def test_the_digits_are_not_among_its_data() -> None:
    pytest.importorskip("sklearn")
    about = {plain_nets._table(np.random.default_rng(seed)).about for seed in range(60)}
    assert {"breast_cancer", "wine"} <= about
    assert "digits" not in about
