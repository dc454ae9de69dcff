"""Any interleaving and any crash point ends like the uninterrupted run."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.study import MemoryLog, State, Study, decode_event, encode_event, fold
from bhpt.study.events import Decided, Event, Observed
from bhpt.study.folding import apply, start
from tests.study.cases import CONFIGS, Greedy, into, losses_of


def _run(log: MemoryLog, order: list[int], workers: int) -> None:
    """Ask and tell until nothing is left; `order` picks which unit in flight reports next."""
    study = Study(
        CONFIGS, "23 epochs", unit=3, seed=5, workers=workers, policy=Greedy(), keep=into(log)
    )
    _go_on(study, order)


def _go_on(study: Study, order: list[int]) -> None:
    turn = len([a for a in study.state.attempts if a.status != "open"])
    while True:
        while study.ask() is not None:
            pass
        if not study.in_flight:
            return
        pick = order[turn % len(order)] % len(study.in_flight)
        unit = study.in_flight[pick]
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
        turn += 1


def _essence(events: list[Event]) -> list[Event | tuple[object, ...]]:
    return [
        (e.attempt, e.arm, e.epochs, e.done, e.cost)
        if isinstance(e, Decided)
        else (e.attempt, e.losses, e.cost)
        for e in events
        if isinstance(e, Decided | Observed)
    ]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=8),
    st.integers(1, 4),
    st.lists(st.integers(1, 60), max_size=4),
)
def test_a_crash_after_any_event_ends_the_same(
    order: list[int], workers: int, crashes: list[int]
) -> None:
    whole = MemoryLog()
    _run(whole, order, workers)
    events = whole.read()
    for crash in crashes:
        kept = events[: max(3, crash % len(events))]
        broken = MemoryLog()
        broken.append([decode_event(encode_event(event)) for event in kept], 0)
        _go_on(Study.resume(broken, Greedy()), order)
        assert _essence(broken.read()) == _essence(whole.read())
        assert fold(broken.read()).best == fold(events).best
        events = broken.read()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "tell", "again", "differ", "fail", "late", "resume"]),
            st.integers(0, 9),
            st.sampled_from([0.5, math.nan, math.inf, 0.1]),
        ),
        max_size=60,
    ),
    st.integers(1, 3),
)
def test_any_interleaving_keeps_the_invariants(
    steps: list[tuple[str, int, float]], workers: int
) -> None:
    log = MemoryLog()
    study = Study(
        CONFIGS[:4], "17 epochs", unit=2, workers=workers, policy=Greedy(), keep=into(log)
    )
    told: list[tuple[object, list[float]]] = []
    for what, pick, loss in steps:
        flying = study.in_flight
        if what == "ask":
            study.ask()
        elif what == "resume":
            study = Study.resume(log, Greedy())
        elif what in {"tell", "fail"} and flying:
            unit = flying[pick % len(flying)]
            if what == "fail":
                study.fail(unit, "boom")
            else:
                losses = [loss] * unit.epochs
                assert study.tell(unit, losses) == "accepted"
                told.append((unit, losses))
        elif what in {"again", "differ"} and told:
            unit, losses = told[pick % len(told)]  # type: ignore[assignment]
            other = [value + 1 if math.isfinite(value) else 0.3 for value in losses]
            wanted = "ignored" if what == "again" else "rejected"
            assert study.tell(unit, losses if what == "again" else other) == wanted
        _check_invariants(study)
    again = fold(log.read())
    assert again.ledger == study.state.ledger
    assert again.attempts == study.state.attempts


def _check_invariants(study: Study) -> None:
    state = study.state
    ledger = state.ledger
    assert ledger.spent == pytest.approx(sum(a.cost for a in state.attempts))  # (a)
    assert ledger.spent + ledger.reserved <= ledger.budget.amount
    observed = [(a.unit.arm, a.unit.index) for a in state.attempts if a.status == "observed"]
    assert len(set(observed)) == len(observed) == state.reports  # (b)
    assert len({a.unit.arm for a in state.flying}) == len(state.flying)


def _told(state: State) -> tuple[object, ...]:
    """All that a state says, as values that compare."""
    curves = state.curves
    assert curves is not None
    assert state.features is not None
    return (
        *(list(state.attempts), state.open, dict(state.tried), state.best, state.ledger),
        *(list(state.configs), state.features.tolist(), curves.visited.tolist()),
        *([curves.of_arm(arm).tolist() for arm in range(curves.arms)], curves.best_by_row.tolist()),
        *(state.tried.columns.arms.tolist(), state.tried.columns.ready.tolist()),
        *(state.tried.failing, state.failures, state.longest_s, state.reports, state.events),
    )


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.sampled_from(["tell", "tell", "fail"]), min_size=1, max_size=25),
    st.lists(st.integers(0, 1000), min_size=1, max_size=12),
)
def test_no_state_changes_whichever_of_them_is_gone_on_with(
    steps: list[str], picks: list[int]
) -> None:
    """States share what they hold; any of them may be asked or gone on with, in any order."""
    log = MemoryLog()
    space = {"x": (0.0, 1.0)}
    study = Study(space, "40 epochs", workers=2, policy=Greedy(), keep=into(log))
    for step in steps:
        unit = study.ask() or study.in_flight[0]
        if step == "fail":
            study.fail(unit, "boom", seconds=1.0)
        else:
            study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
    events = log.read()
    states = [start(events[0])]
    for event in events[1:]:
        states.append(apply(states[-1], event))
    for pick in picks:
        at = 1 + pick % (len(events) - 1)
        assert _told(states[at]) == _told(fold(events[: at + 1]))
        if at + 1 < len(events):  # go on from there once more: the others must not notice
            assert _told(apply(states[at], events[at + 1])) == _told(fold(events[: at + 2]))
    for at in range(1, len(states)):
        assert _told(states[at]) == _told(fold(events[: at + 1]))
