"""Where arms come from while a study runs: no near-copies, bounded numbers, the same on resume."""

import json
import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain.budget import Budget
from bhpt.spaces import NEAR
from bhpt.study import MemoryLog, State, Study, decode_event, encode_event
from bhpt.study.candidates import fresh_arms
from bhpt.study.codec import VERSION
from bhpt.study.creation import first_events
from bhpt.study.events import ArmsAdded
from bhpt.study.folding import fold
from bhpt.study.plan import Training
from tests.study.cases import Greedy, into, losses_of

_SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0), "a": ["u", "v"], "n": (1, 4)}
_EPOCHS = 9


def _study(log: MemoryLog, seed: int = 0, budget: int = 60, candidates: int = 8) -> Study:
    first = first_events(
        _SPACE,
        Budget.parse(f"{budget} epochs"),
        training=Training(epochs=_EPOCHS),
        seed=seed,
        policy="greedy",
        candidates=candidates,
    )
    log.append(first, 0)
    return Study.resume(log, Greedy())


def _finish(study: Study, budget: int | None = None) -> None:
    while (unit := study.ask()) is not None:
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
        if budget is not None and study.state.reports >= budget:
            return


def _added(log: MemoryLog) -> list[ArmsAdded]:
    return [event for event in log.read() if isinstance(event, ArmsAdded)]


def _no_two_alike(state: State) -> None:
    features = state.features
    assert features is not None
    for place in range(1, len(features)):
        assert np.abs(features[:place] - features[place]).max(axis=1).min() >= NEAR


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.integers(4, 20))
def test_no_near_copy_is_ever_added_and_counts_stay_bounded(seed: int, candidates: int) -> None:
    log = MemoryLog()
    study = _study(log, seed, candidates=candidates)
    while (unit := study.ask()) is not None:
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
        state = study.state
        waiting = [one for one in state.children if not state.was_tried(one.arm)]
        far = int((state.curves.counts >= _EPOCHS / 3).sum()) if state.curves else 0
        assert len(waiting) <= 2 * far
        assert state.untried <= candidates + len(waiting)
        for parent in {one.parent for one in waiting}:
            assert sum(one.parent == parent for one in waiting) <= 2
    _no_two_alike(study.state)
    first = [len(event.configs) for event in _added(log) if event.origin == "near"]
    assert set(first) <= {1}


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.integers(1, 59))
def test_resumed_anywhere_the_same_arms_are_added(seed: int, after: int) -> None:
    whole, broken = MemoryLog(), MemoryLog()
    _finish(_study(whole, seed))
    events = whole.read()
    kept = events[: max(3, after * len(events) // 60)]
    broken.append([decode_event(encode_event(event)) for event in kept], 0)
    study = Study.resume(broken, Greedy())
    for unit in study.in_flight:
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
    _finish(study)
    again = [(one.configs, one.origin, one.parents) for one in _added(broken)]
    assert again == [(one.configs, one.origin, one.parents) for one in _added(whole)]


def test_children_wait_until_their_parent_has_a_third_of_its_training() -> None:
    log = MemoryLog()
    study = _study(log)
    _finish(study)
    state = start = fold(log.read()[:2])
    assert start.children == state.children
    seen = 0
    for event in log.read()[2:]:
        if isinstance(event, ArmsAdded) and event.origin == "near":
            seen += 1
            assert all(state.count(parent) >= math.ceil(_EPOCHS / 3) for parent in event.parents)
        state = fold([*log.read()[: state.events], event])
    assert seen > 0


def _with_first_child() -> State:
    """A study just after the first child was added, which is not in flight itself."""
    for seed in range(20):
        study = _study(MemoryLog(), seed, candidates=30)
        while (unit := study.ask()) is not None and not study.state.children:
            study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
        if study.state.children and not study.state.was_tried(study.state.children[0].arm):
            return study.state
    raise AssertionError("no study had a child that waits")


def test_a_parent_has_its_next_child_when_the_last_was_tried() -> None:
    state = _with_first_child()
    child = state.children[0]
    made = fresh_arms(state)
    assert made is None or child.parent not in made.parents
    tried = replace(state, tried=state.tried.with_arm(child.arm, state.arm(child.parent)))
    again = [fresh_arms(replace(tried, batches=batch)) for batch in range(20)]
    assert child.parent in {parent for one in again if one is not None for parent in one.parents}


def test_more_is_drawn_when_all_was_tried_however_small_the_space() -> None:
    log = MemoryLog()
    study = Study({"x": (0.0, 1.0)}, "200 epochs", max_epochs=1, policy=Greedy(), keep=into(log))
    _finish(study)
    assert study.state.ledger.left == 0  # 25 arms fill the range at first; more lie between them
    assert [event.origin for event in _added(log)].count("drawn") >= 3


def test_a_finite_space_ends() -> None:
    log = MemoryLog()
    study = Study({"x": (1, 5)}, "20 epochs", max_epochs=2, policy=Greedy(), keep=into(log))
    _finish(study)
    assert study.state.ledger.spent == 10
    assert len(study.state.configs) == 5


def test_a_study_of_before_goes_on_with_its_arms() -> None:
    log = MemoryLog()
    _study(log)
    config = {"x": 0.5, "y": 0.5, "a": "u", "n": 1}
    text = {"v": VERSION, "type": "ArmsAdded", "configs": [config], "origin": "near", "clock": 1.0}
    old = decode_event(json.dumps(text))
    state = fold([*log.read(), old])
    assert isinstance(old, ArmsAdded)
    assert old.parents == ()
    assert len(state.children) == 0
    assert state.batches == 1
