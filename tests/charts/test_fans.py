import numpy as np
import pytest

from bhpt.charts.fans import PROBABILITIES, fans_of
from bhpt.domain import Memory
from bhpt.policies.study_predictor import policy_named, predictor_of
from bhpt.study import priced_view
from tests.reports.cases import state_of

PREDICTOR = predictor_of(policy_named("default"))


@pytest.mark.parametrize("mode", ["min", "max"])
def test_a_fan_begins_where_its_arm_stands_and_only_improves(mode: str) -> None:
    state = state_of("60 epochs", units=25, mode=mode)
    fans = fans_of(state, PREDICTOR, Memory())
    assert fans is not None
    assert state.curves is not None
    assert fans.assumed == 0
    sign = 1 if mode == "min" else -1
    for arm, epochs, quantiles in zip(fans.arms, fans.epochs, fans.quantiles, strict=True):
        assert epochs[0] == state.count(int(arm))
        np.testing.assert_allclose(quantiles[0], sign * state.lowest(int(arm)))
        assert np.all(np.diff(quantiles, axis=1) >= -1e-9)  # low to high, whatever the direction
        assert np.all(sign * np.diff(quantiles, axis=0) <= 1e-9)
        assert np.all(np.diff(epochs) >= 0)
        assert epochs[-1] <= state.plan.training.epochs
    assert fans.quantiles.shape[2] == len(PROBABILITIES)


def test_the_last_rung_is_the_predicted_end() -> None:
    state = state_of("60 epochs", units=25)
    fans = fans_of(state, PREDICTOR, Memory())
    assert fans is not None
    looked = priced_view(state)
    assert looked is not None
    ends = PREDICTOR.predict(looked[0]).quantiles(PROBABILITIES)
    np.testing.assert_allclose(fans.quantiles[:, -1], ends[:, fans.arms].T, rtol=1e-6)


def test_a_spent_study_is_predicted_with_as_much_again() -> None:
    fans = fans_of(state_of("12 epochs"), PREDICTOR, Memory())
    assert fans is not None
    assert fans.assumed == 12
    assert len(fans.of(fans.arms[:2]).arms) == 2


def test_nothing_is_predicted_before_anything_is_known() -> None:
    assert fans_of(state_of(units=0), PREDICTOR, Memory()) is None
