"""How the models of many arms are moved: losses, schedules, momentum, and arms that wait."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
batched = import_module("benchmarks.policy.jobs.batched")
deep_job = import_module("benchmarks.policy.jobs.deep_job")


def _moved(settings: list[dict[str, object]], units: int, **more: Any) -> Any:
    """Weights of arms that start at 0 and whose loss has the slope 1, [A, T + 1]."""
    h = batched.hypers([{"optimizer": "sgd", "momentum": 0.0, **one} for one in settings], "cpu")
    model = batched.Model(
        {"w": torch.zeros(len(settings), 1)},
        lambda w, _: w["w"][:, 0],
        lambda w: w["w"][:, 0].detach().clone(),
        4,
        **more,
    )
    return batched.train(model, h, units, 1, 0)


def test_a_polynomial_decay_ends_where_its_part_does() -> None:
    found = _moved(
        [{"lr": 1.0, "schedule": "polynomial", "power": 2.0, "decays": 0.5, "final": 0.1}], 8
    )
    rates = -np.diff(found[0])
    gone = np.minimum(np.arange(1, 9) / 4, 1)
    np.testing.assert_allclose(rates, 0.1 + 0.9 * (1 - gone) ** 2, rtol=1e-5)


def test_an_annealed_rate_warms_up_first_and_ends_at_its_final_part() -> None:
    rates = -np.diff(_moved([{"schedule": "annealed", "lr": 1.0, "warmup": 0.5, "final": 0.2}], 8))
    np.testing.assert_allclose(rates[0, :4], [0.25, 0.5, 0.75, 1.0], rtol=1e-5)
    assert (np.diff(rates[0, 3:]) < 0).all()
    assert rates[0, -1] == pytest.approx(0.2)


def test_nesterov_looks_a_step_ahead_of_momentum() -> None:
    plain, ahead = _moved(
        [{"lr": 1.0, "momentum": 0.5}, {"lr": 1.0, "momentum": 0.5, "nesterov": 1.0}], 2
    )
    np.testing.assert_allclose(plain, [0.0, -1.0, -2.5])
    np.testing.assert_allclose(ahead, [0.0, -1.5, -3.25])


def test_one_minus_a_hyper_parameter_says_it_too() -> None:
    values = batched.hypers([{"one_minus_momentum": 0.25}, {"momentum": 0.6}], "cpu")["momentum"]
    np.testing.assert_allclose(values.numpy(), [0.75, 0.6], rtol=1e-6)


def test_an_arm_that_waits_stays_where_it_is() -> None:
    calls = []

    def begin(_: object) -> int:
        calls.append(0)
        return 3

    found = _moved(
        [{"lr": 1.0, "momentum": 0.9}, {"lr": 1.0}],
        2,
        begin=begin,
        moving=lambda: torch.tensor([False, True]),
    )
    np.testing.assert_allclose(found, [[0, 0, 0], [0, -3, -6]])
    assert len(calls) == 2


def test_smoothed_losses_average_to_the_smoothed_entropy() -> None:
    logits = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([0, 2, 1, 1, 0])
    h = batched.hypers([{"smoothing": 0.0}, {"smoothing": 0.3}], "cpu")
    found = deep_job.smoothed(deep_job.surprises(logits, targets), logits, h)
    wanted = deep_job.entropy(logits, targets, h["smoothing"])
    np.testing.assert_allclose(found.mean(dim=1).numpy(), wanted.numpy(), rtol=1e-5)
