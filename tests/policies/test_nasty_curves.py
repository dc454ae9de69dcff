"""No table of numbers makes a policy fail: constant, rising, huge, tiny, negative, NaN, tied."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bhpt.beliefs.freeze_thaw.grid import make_grid
from bhpt.beliefs.freeze_thaw.hypers import Hypers
from bhpt.domain import Curves, FloatArray, View
from bhpt.policies.registry import make_policy, names

EPOCHS = 9


def constant(rng: np.random.Generator) -> FloatArray:
    return np.full(EPOCHS, rng.choice([0.0, 0.5, 1.0, 2.3]))


def falling(rng: np.random.Generator) -> FloatArray:
    losses = np.asarray(np.arange(1.0, EPOCHS + 1) ** -float(rng.uniform(0.3, 2)), np.float64)
    return losses + float(rng.uniform(0.1, 1))


def rising(rng: np.random.Generator) -> FloatArray:
    return np.asarray(float(rng.uniform(0.5, 1)) * np.arange(1.0, EPOCHS + 1) ** 2, np.float64)


def noise(rng: np.random.Generator) -> FloatArray:
    return rng.normal(size=EPOCHS)


def huge(rng: np.random.Generator) -> FloatArray:
    return rng.choice([1e300, -1e300, 1e99, 1e308], size=EPOCHS)


def tiny(rng: np.random.Generator) -> FloatArray:
    return rng.choice([1e-300, 5e-324, 0.0, 1e-12], size=EPOCHS)


def negative(rng: np.random.Generator) -> FloatArray:
    losses: FloatArray = -274 + 1e-4 * rng.normal(size=EPOCHS)
    return losses - float(rng.choice([0.0, 50.0])) * np.arange(EPOCHS)


def one_good(rng: np.random.Generator) -> FloatArray:
    losses = np.full(EPOCHS, np.nan)
    losses[rng.integers(EPOCHS)] = rng.uniform(-1, 1)
    return losses


def never(rng: np.random.Generator) -> FloatArray:
    return rng.choice([np.nan, np.inf, -np.inf], size=EPOCHS)


def spiky(rng: np.random.Generator) -> FloatArray:
    losses = falling(rng)
    losses[rng.integers(EPOCHS, size=2)] = rng.choice([1e12, np.inf, np.nan, 50.0], size=2)
    return losses


CURVES = (constant, falling, rising, noise, huge, tiny, negative, one_good, never, spiky)


def play(name: str, table: FloatArray, unit: int, untrained: float | None, seed: int) -> None:
    """A short study; every decision must be an arm that can run."""
    policy = make_policy(name)
    arms = len(table)
    features = np.random.default_rng(seed).uniform(size=(arms, 2))
    curves = Curves.empty(arms, EPOCHS)
    for spent in range(6):
        view = View(
            curves=curves,
            unit=unit,
            left=float(6 - spent),
            costs=np.ones(arms),
            features=features,
            untrained=untrained,
            seed=seed,
        )
        decision = policy.decide(view)
        if decision is None:
            assert not view.choosable.any()
            return
        assert view.choosable[decision.arm]
        assert decision.explanation.why
        at = int(curves.count_by_arm[decision.arm])
        curves = curves.extend(decision.arm, table[decision.arm, at : at + unit])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", names())
@given(data=st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_table_makes_a_policy_fail(name: str, data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(CURVES), min_size=1, max_size=4), label="curves")
    alike = data.draw(st.booleans(), label="ties")
    seed = data.draw(st.integers(0, 999), label="seed")
    untrained = data.draw(
        st.sampled_from([None, 2.3, 0.0, -1.0, 1e-300, 1e300, -274.0]), label="untrained"
    )
    rng = np.random.default_rng(seed)
    table = np.stack([kind(rng) for kind in kinds])
    if alike:
        table = np.vstack([table, table])
    play(name, table, data.draw(st.integers(1, 4), label="unit"), untrained, seed)


def test_a_decay_that_has_not_begun_at_the_last_epoch_is_factorised() -> None:
    flat = Hypers(-274.0, 3.0, 1.8e-4, 1.3e6, 0.7, 7e-11)
    for anchored in (False, True):
        grid = make_grid(flat, 20, 1.0, anchored=anchored)
        assert np.isfinite(grid.omega).all()
        assert np.isfinite(grid.residual).all()
