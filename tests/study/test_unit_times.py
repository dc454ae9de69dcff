from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import FloatArray
from bhpt.study.tried_arms import Arm, TriedArms
from bhpt.study.unit_times import COMMON, FirstUnit, PaceModel, Paces, Timings, TimingTable

_FEATURES = np.linspace(0, 1, 21)[:, None]


def _ran(
    later: Mapping[int, Sequence[float]], first: Mapping[int, FirstUnit] | None = None
) -> TriedArms:
    """Arms that ran, with the paces of their later units and what their first ones took."""
    arms = dict.fromkeys([*later, *(first or {})])
    known = {
        arm: Arm(paces=tuple(later.get(arm, ())), first=(first or {}).get(arm)) for arm in arms
    }
    return TriedArms(known)


def _predict(features: FloatArray, ran: TriedArms) -> Paces | None:
    """Paces of all arms; those of single arms must be the same."""
    model = PaceModel.fit(features, ran.latest_timings)
    if model is None:
        return None
    paces = model.paces(ran.timings)
    for arm in range(0, len(features), 1 + len(features) // 20):
        own = model.typical(arm, ran.timings_of(arm))
        assert own == pytest.approx(paces.typical[arm], rel=1e-12)
    return paces


def _truth(arm: int) -> float:
    return float(np.log(0.1) + 2.0 * _FEATURES[arm, 0])


def test_nothing_timed_is_nothing_known() -> None:
    assert _predict(_FEATURES, _ran({})) is None
    assert _predict(_FEATURES, _ran({3: ()})) is None


def test_one_arm_speaks_for_all_with_a_wide_margin() -> None:
    paces = _predict(_FEATURES, _ran({3: (0.0,)}))
    assert paces is not None
    assert paces.typical == pytest.approx(np.ones(21))
    assert paces.spread[0] > paces.spread[3]
    assert paces.safe(1.64)[0] > 2


def test_the_configuration_tells_the_pace_of_arms_that_did_not_run() -> None:
    seen = {arm: (_truth(arm),) * 2 for arm in range(0, 21, 2)}
    paces = _predict(_FEATURES, _ran(seen))
    assert paces is not None
    truth = np.exp([_truth(arm) for arm in range(21)])
    assert paces.typical == pytest.approx(truth, rel=0.3)
    assert np.corrcoef(np.log(paces.typical), np.log(truth))[0, 1] > 0.98


def test_one_slow_unit_does_not_change_the_price() -> None:
    steady = dict.fromkeys(range(6), (0.0, 0.01, -0.01))
    paces = _predict(_FEATURES, _ran({**steady, 0: (0.0, 0.01, 3.0)}))
    assert paces is not None
    assert paces.typical == pytest.approx(np.ones(21), rel=0.1)


def test_an_arm_that_ran_often_is_known_by_itself() -> None:
    seen = {**dict.fromkeys(range(5), (0.0, 0.1, -0.1)), 20: tuple([2.0, 2.1, 1.9] * 5)}
    paces = _predict(_FEATURES, _ran(seen))
    assert paces is not None
    assert np.log(paces.typical[20]) == pytest.approx(2.0, abs=0.4)


def test_ten_thousand_arms_are_fast() -> None:
    features = np.random.default_rng(0).random((100_000, 8))
    paces = _predict(features, _ran(dict.fromkeys(range(300), (0.1, 0.2))))
    assert paces is not None
    assert paces.typical.shape == (100_000,)


def _by_hand(seen: dict[int, tuple[float, ...]]) -> tuple[float, float]:
    """Noise and strangeness straight from their definitions, where no regression is fitted."""
    middles = {arm: np.median(paces) for arm, paces in seen.items()}
    away = [abs(x - middles[arm]) for arm, paces in seen.items() if len(paces) > 1 for x in paces]
    noise = max(0.02, 1.4826 * float(np.median(away))) if away else 0.3
    own = np.array(list(middles.values()))
    strange = (
        max(0.2, 1.4826 * float(np.median(abs(own - np.median(own))))) if len(own) > 1 else 0.7
    )
    return noise, strange


@given(
    st.dictionaries(
        st.integers(0, 20),
        st.lists(st.floats(-5, 5), min_size=1, max_size=6).map(tuple),
        min_size=1,
        max_size=3,
    )
)
@settings(deadline=None, max_examples=60)
def test_few_arms_are_predicted_from_medians(seen: dict[int, tuple[float, ...]]) -> None:
    paces = _predict(_FEATURES, _ran(seen))
    assert paces is not None
    noise, strange = _by_hand(seen)
    centre = float(np.median([np.median(own) for own in seen.values()]))
    for arm in range(21):
        n = len(seen.get(arm, ()))
        trust = n / noise**2 / (n / noise**2 + 1 / strange**2)
        own = float(np.median(seen[arm])) if n else 0.0
        assert np.log(paces.typical[arm]) == pytest.approx(trust * own + (1 - trust) * centre)
        assert paces.spread[arm] ** 2 == pytest.approx(strange**2 * (1 - trust) + noise**2)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.floats(-5, 5)), min_size=1, max_size=60),
)
@settings(deadline=None, max_examples=60)
def test_timings_kept_from_unit_to_unit_equal_those_of_all_at_once(
    units: list[tuple[int, float]],
) -> None:
    table, seen = TimingTable(16), dict[int, tuple[float, ...]]()
    for arm, pace in units:
        seen[arm] = (*seen.get(arm, ()), pace)[-16:]
        table.put(list(seen).index(arm), arm, seen[arm])
    kept, whole = table.timings, Timings.of(seen)
    for name in ("arms", "middles", "counts"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(whole, name))
    np.testing.assert_array_equal(np.sort(kept.away), np.sort(whole.away))


def test_the_latest_arms_speak_for_the_others() -> None:
    """A machine that got slower: arms of long ago say nothing about those that did not run."""
    arms = COMMON + 500
    seen = {arm: (0.0 if arm < 500 else 3.0,) for arm in range(arms)}
    paces = _predict(np.zeros((arms + 1, 1)), _ran(seen))
    assert paces is not None
    assert np.log(paces.typical[arms]) == pytest.approx(3.0)
    assert np.log(paces.typical[0]) < 2.5


def test_what_a_start_costs_is_learned_apart() -> None:
    """First units take 4 s, all others 0.1 s: after a few of these every price is right."""
    later = {0: (np.log(0.1),) * 2, 3: (np.log(0.1),), 5: (np.log(0.1),)}
    first = {arm: FirstUnit(4.0 + 0.1 * (arm % 3), 1) for arm in range(12)}
    ran = _ran(later, first)
    model = PaceModel.fit(_FEATURES, ran.latest_timings)
    assert model is not None
    paces = model.paces(ran.timings).typical
    assert (paces > 0.1 / 1.5).all()
    assert (paces < 0.1 * 1.5).all()
    assert model.start_s == pytest.approx(4.0, rel=0.1)


def test_one_start_is_enough_to_see_that_starts_cost() -> None:
    first = dict.fromkeys(range(4), FirstUnit(4.0, 1))
    ran = _ran({2: (np.log(0.1),)}, first)
    model = PaceModel.fit(_FEATURES, ran.latest_timings)
    assert model is not None
    assert model.paces(ran.timings).typical == pytest.approx(np.full(21, 0.1), rel=0.1)
    assert model.start_s == pytest.approx(3.9)


def test_first_units_of_new_workers_price_nobody() -> None:
    """A device warms up: the first four units take 4 s, whichever arm they are of."""
    cold = dict.fromkeys(range(4), FirstUnit(4.0, 1, new_worker=True))
    ran = _ran({}, cold)
    alone = PaceModel.fit(_FEATURES, ran.latest_timings)
    assert alone is not None
    assert alone.paces(ran.timings).typical == pytest.approx(
        np.full(21, 4.0)
    )  # nothing else is known
    ran = _ran({}, {**cold, 7: FirstUnit(0.1, 1)})
    warm = PaceModel.fit(_FEATURES, ran.latest_timings)
    assert warm is not None
    assert warm.paces(ran.timings).typical == pytest.approx(np.full(21, 0.1))
    assert warm.start_s == 0.0


def test_a_single_slow_first_unit_among_many_prices_its_arm_not_for_good() -> None:
    first = {**dict.fromkeys(range(8), FirstUnit(0.1, 1)), 9: FirstUnit(4.0, 1)}
    ran = _ran({}, first)
    model = PaceModel.fit(_FEATURES, ran.latest_timings)
    assert model is not None
    assert model.paces(ran.timings).typical == pytest.approx(np.full(21, 0.1), rel=0.4)


def test_arms_that_are_dear_at_first_and_later_are_dear() -> None:
    first = {arm: FirstUnit(float(np.exp(_truth(arm))), 1) for arm in range(0, 21, 2)}
    later = {arm: (_truth(arm),) for arm in range(0, 21, 4)}
    paces = _predict(_FEATURES, _ran(later, first))
    assert paces is not None
    truth = np.exp([_truth(arm) for arm in range(21)])
    assert paces.typical == pytest.approx(truth, rel=0.3)


@given(st.floats(0.01, 10), st.floats(0, 100), st.integers(4, 20), st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_prices_are_right_whatever_a_start_costs(
    pace: float, start: float, arms: int, seed: int
) -> None:
    """Noise of a twentieth; three arms have had a second unit."""
    rng = np.random.default_rng(seed)
    noise = np.exp(0.05 * rng.standard_normal((2, arms)))
    first = {arm: FirstUnit(float((start + pace) * noise[0, arm]), 1) for arm in range(arms)}
    later = {arm: (float(np.log(pace * noise[1, arm])),) for arm in range(3)}
    paces = _predict(_FEATURES, _ran(later, first))
    assert paces is not None
    assert np.abs(np.log(paces.typical / pace)).max() < np.log(1.7)
