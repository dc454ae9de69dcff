import numpy as np
import pytest

from bhpt.study.unit_times import predict_paces

_FEATURES = np.linspace(0, 1, 21)[:, None]


def _truth(arm: int) -> float:
    return float(np.log(0.1) + 2.0 * _FEATURES[arm, 0])


def test_nothing_timed_is_nothing_known() -> None:
    assert predict_paces(_FEATURES, {}) is None
    assert predict_paces(_FEATURES, {3: ()}) is None


def test_one_arm_speaks_for_all_with_a_wide_margin() -> None:
    paces = predict_paces(_FEATURES, {3: (0.0,)})
    assert paces is not None
    assert paces.typical == pytest.approx(np.ones(21))
    assert paces.spread[0] > paces.spread[3]
    assert paces.safe(1.64)[0] > 2


def test_the_configuration_tells_the_pace_of_arms_that_did_not_run() -> None:
    seen = {arm: (_truth(arm),) * 2 for arm in range(0, 21, 2)}
    paces = predict_paces(_FEATURES, seen)
    assert paces is not None
    truth = np.exp([_truth(arm) for arm in range(21)])
    assert paces.typical == pytest.approx(truth, rel=0.3)
    assert np.corrcoef(np.log(paces.typical), np.log(truth))[0, 1] > 0.98


def test_one_slow_unit_does_not_change_the_price() -> None:
    steady = dict.fromkeys(range(6), (0.0, 0.01, -0.01))
    paces = predict_paces(_FEATURES, {**steady, 0: (0.0, 0.01, 3.0)})
    assert paces is not None
    assert paces.typical == pytest.approx(np.ones(21), rel=0.1)


def test_an_arm_that_ran_often_is_known_by_itself() -> None:
    seen = {**dict.fromkeys(range(5), (0.0, 0.1, -0.1)), 20: tuple([2.0, 2.1, 1.9] * 5)}
    paces = predict_paces(_FEATURES, seen)
    assert paces is not None
    assert np.log(paces.typical[20]) == pytest.approx(2.0, abs=0.4)


def test_ten_thousand_arms_are_fast() -> None:
    features = np.random.default_rng(0).random((100_000, 8))
    paces = predict_paces(features, dict.fromkeys(range(300), (0.1, 0.2)))
    assert paces is not None
    assert paces.typical.shape == (100_000,)
