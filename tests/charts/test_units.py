import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.charts.arms import arms_of
from bhpt.charts.overview import overview_of
from bhpt.charts.plain import plain
from bhpt.charts.units import STATUSES, changed_units, lanes, units_of
from bhpt.reports.progress import progress_of
from bhpt.study import State, Study
from tests.reports.cases import loss_at

LISTED = [{"rate": 0.01 * 2**place, "depth": 1 + place % 4} for place in range(7)]
FEW = settings(max_examples=30, deadline=None)


def driven(choices: list[int], mode: str = "min") -> list[State]:
    """States of a study with two workers, whose reports come in the order that choices say."""
    study = Study(LISTED, "30 epochs", workers=2, max_epochs=9, policy="random", mode=mode)  # type: ignore[arg-type]
    states = [study.state]
    for choice in choices:
        unit = None if choice == 0 else study.ask()
        flying = study.in_flight
        if unit is None and flying:
            told = flying[choice % len(flying)]
            if choice == 2:
                study.fail(told, "out of luck", seconds=1.0)
            else:
                value = math.nan if choice == 3 else loss_at(told.config, told.done + 1)
                study.tell(told, value, seconds=1.0)
        states.append(study.state)
    return states


CHOICES = st.lists(st.integers(0, 4), max_size=40)


def rebuilt(state: State) -> dict[str, list[float]]:
    """What the columns say, worked out attempt by attempt."""
    value = state.plan.objective.from_loss
    best, used = math.inf, 0.0
    found: dict[str, list[float]] = {"best": [], "used": []}
    over = [one for one in state.attempts if one.ended is not None]
    for one in sorted(over, key=lambda attempt: (attempt.ended, attempt.number)):
        if one.status == "observed":
            assert state.curves is not None
            losses = state.curves.of_arm(one.unit.arm).tolist()
            own = losses[one.done : one.done + one.unit.epochs]
            best = min([best, *filter(math.isfinite, own)])
        used += one.cost
        found["best"].append(value(best) if math.isfinite(best) else math.nan)
        found["used"].append(used)
    return found


@FEW
@given(choices=CHOICES, mode=st.sampled_from(["min", "max"]))
def test_the_columns_say_what_the_attempts_say(choices: list[int], mode: str) -> None:
    state = driven(choices, mode)[-1]
    units = units_of(state)
    expected = rebuilt(state)
    np.testing.assert_allclose(units.best[units.settled], expected["best"])
    np.testing.assert_allclose(units.used[units.settled], expected["used"])
    assert units.used[units.settled][-1:].tolist() in ([], [state.ledger.used])
    assert len(units.values) == sum(len(state.attempts[n].metrics) or 1 for n in _observed(state))
    assert [STATUSES[n] for n in units.status] == [one.status for one in state.attempts]


def _observed(state: State) -> list[int]:
    return [one.number for one in state.attempts if one.status == "observed"]


@FEW
@given(choices=CHOICES)
def test_changes_one_after_the_other_make_the_whole(choices: list[int]) -> None:
    states = driven(choices)
    rows: dict[int, object] = {}
    for before, after in itertools.pairwise(states):
        part = plain(units_of(after).of(changed_units(before, after)))
        columns = [name for name in part if name not in ("values", "message")]
        for place, number in enumerate(part["attempt"]):
            rows[number] = [part[name][place] for name in columns]
    whole = plain(units_of(states[-1]))
    names = [name for name in whole if name not in ("values", "message")]
    assert rows == {
        number: [whole[name][place] for name in names]
        for place, number in enumerate(whole["attempt"])
    }


def test_values_follow_their_attempts() -> None:
    states = driven([1, 4, 0, 1, 0, 0, 1, 2, 1, 3, 1, 0])
    units = units_of(states[-1])
    last = int(np.flatnonzero(units.status == STATUSES.index("observed"))[-1])
    arm, done = int(units.arm[last]), int(units.done[last])
    curves = states[-1].curves
    assert curves is not None
    np.testing.assert_allclose(units.of(np.array([last])).values, curves.of_arm(arm)[done])


@given(
    starts=st.lists(st.integers(0, 50), max_size=30),
    lengths=st.lists(st.integers(1, 9), min_size=30),
)
def test_no_two_units_share_a_lane_at_once(starts: list[int], lengths: list[int]) -> None:
    started = np.array(sorted(starts), float)
    ended = started + np.array(lengths[: len(starts)], float)
    found = lanes(started, ended, [None] * len(started))
    for one in range(len(started)):
        for other in range(one):
            if found[one] == found[other]:
                assert ended[other] <= started[one]
    busiest = max((int(((started <= at) & (ended > at)).sum()) for at in started), default=0)
    assert found.max(initial=-1) + 1 == busiest


def test_a_lane_is_the_worker_that_the_log_names() -> None:
    started, ended = np.array([0.0, 0.0, 1.0, 2.0]), np.array([2.0, 1.0, np.nan, 3.0])
    assert lanes(started, ended, [2, None, None, None]).tolist() == [2, 0, 0, 1]


def test_failures_keep_their_message_and_the_tail_of_their_log() -> None:
    state = driven([1, 2, 2, 2])[-1]
    failed = [one for one in state.attempts if one.status == "failed"]
    assert failed
    assert units_of(state).message[failed[0].number] == "out of luck"
    assert failed[0].failure == "crashed"


def test_a_study_in_which_nothing_happened_has_empty_columns() -> None:
    state = driven([])[0]
    assert len(units_of(state).attempt) == len(arms_of(state).arm) == 0
    shown = overview_of(state, progress_of(state, predict=lambda _: None))
    assert shown.best is None
    assert shown.last_why == ""


def test_arms_have_their_settings_in_columns() -> None:
    state = driven([1, 4, 0, 1, 0, 0])[-1]
    arms = arms_of(state)
    for place, arm in enumerate(arms.arm.tolist()):
        assert {name: values[place] for name, values in arms.settings.items()} == state.configs[arm]
    only = arms.of(arms.arm[1:])
    assert only.settings["rate"] == arms.settings["rate"][1:]


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float64("nan"), np.array([1.0, np.inf])])
def test_plain_values_hold_no_number_that_json_has_not(value: object) -> None:
    assert "null" in json.dumps(plain({"value": value}), allow_nan=False)
