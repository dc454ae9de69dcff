"""A log that folds is consistent: every event that contradicts the state is refused."""

import pytest

from bhpt.domain import Misuse, Saved
from bhpt.domain.budget import Budget
from bhpt.study import State, Training, apply, fold
from bhpt.study.creation import first_events
from bhpt.study.events import (
    ArmClosed,
    ArmsAdded,
    CheckpointDropped,
    Decided,
    Enqueued,
    Event,
    Extended,
    Failed,
    Observed,
    Restarted,
    SessionStarted,
)

_FIRST = first_events(
    [{"x": 0}, {"x": 1}, {"x": 2}],
    Budget(40),
    training=Training(2, 20),
    workers=2,
    trainer={"name": "net"},
)


def _decided(attempt: int, arm: int, done: int) -> Decided:
    return Decided(attempt, arm, done // 2, 2, done, 2.0, None, "", (), 0.0)


def _observed(
    attempt: int, losses: tuple[float, ...] = (0.5, 0.4), saved: Saved | None = None
) -> Observed:
    return Observed(attempt, losses, 1.0, 0.0, 0, 2.0, saved, 0.0)


def _failed(attempt: int, kind: str = "crashed") -> Failed:
    return Failed(attempt, kind, "boom", "", 1.0, 2.0, False, 0.0)


def _saved(generation: int, epochs: int) -> Saved:
    return Saved(generation, epochs, f"digest {generation}", 10)


def _after(*events: Event) -> State:
    return fold([*_FIRST, *events])


_TRAINED = (_decided(0, 0, 0), _observed(0))


@pytest.mark.parametrize(
    ("before", "event", "says"),
    [
        ((), _FIRST[0], "created twice"),
        ((), ArmsAdded((), "listed"), "no arms were added"),
        ((), ArmsAdded(({"x": 3},), "near", parents=(1,)), "near arms that were not tried"),
        ((), Enqueued((3,), 0.0), "enqueued that is not there"),
        ((), _decided(1, 0, 0), "attempt 1 is out of order"),
        ((), _decided(0, 3, 0), "arm 3 cannot be trained"),
        ((), _decided(0, 0, 2), "arm 0 is not at epoch 2"),
        (_TRAINED, _decided(1, 0, 0), "arm 0 is not at epoch 0"),
        ((ArmClosed(0, "enough", 0.0),), _decided(0, 0, 0), "arm 0 cannot be trained"),
        ((_decided(0, 0, 0),), _observed(0, (0.5,)), "attempt 0 has the wrong losses"),
        ((_decided(0, 0, 0), _decided(1, 0, 2)), _observed(1), "attempt 1 came before its turn"),
        (_TRAINED, _observed(0), "attempt 0 is not in flight"),
        (_TRAINED, _failed(0), "attempt 0 is not in flight"),
        (_TRAINED, Restarted(0, 0.0), "attempt 0 is not in flight"),
        (_TRAINED, Extended(0, 3.0, 0.0), "attempt 0 is not in flight"),
    ],
)
def test_contradictions_are_refused(before: tuple[Event, ...], event: Event, says: str) -> None:
    state = _after(*before)
    with pytest.raises(Misuse, match=says):
        apply(state, event)


def test_of_equal_losses_the_earlier_one_is_the_best() -> None:
    state = _after(*_TRAINED, _decided(1, 1, 0), _observed(1))
    assert state.best is not None
    assert (state.best.arm, state.best.epoch, state.best.loss) == (0, 2, 0.4)


@pytest.mark.parametrize(("kind", "counted"), [("crashed", 1), ("stopped", 0), ("lost", 0)])
def test_only_what_is_an_arm_s_fault_counts_against_it(kind: str, counted: int) -> None:
    state = _after(_decided(0, 0, 0), _failed(0, kind))
    assert state.arm(0).failures == counted
    assert state.failures == 1


def _drop(generation: int | None) -> Event:
    return CheckpointDropped(0, generation, "a test", 0.0)


_TWICE_SAVED = (
    *(_decided(0, 0, 0), _observed(0, saved=_saved(1, 2))),
    *(_decided(1, 0, 2), _observed(1, saved=_saved(2, 4))),
)
_AHEAD = (*_TWICE_SAVED, _decided(2, 0, 4), _observed(2))  # two epochs are in a live trainer only


@pytest.mark.parametrize(
    ("log", "dropped", "ready"),
    [
        (_TWICE_SAVED, 2, 2),  # the one before it is there
        (_TWICE_SAVED, 1, 4),  # a newer one is there
        (_AHEAD, 2, 6),  # a trainer is alive
        (_AHEAD, None, 4),  # the trainer is gone
    ],
)
def test_what_a_dropped_checkpoint_leaves(
    log: tuple[Event, ...], dropped: int | None, ready: int
) -> None:
    assert _after(*log, _drop(dropped)).arm(0).ready == ready


def test_trainers_do_not_survive_their_session() -> None:
    alone = (_decided(3, 1, 0), _observed(3))  # an arm without any checkpoint
    state = _after(*_AHEAD, *alone, SessionStarted("host", 1, 2, 0.0))
    assert (state.arm(0).ready, state.arm(1).ready) == (4, 0)
    asked = first_events([{"x": 0}], Budget(40), training=Training(2, 20))
    kept = fold([*asked, *_TRAINED, SessionStarted("host", 1, 1, 0.0)])
    assert kept.arm(0).ready == 2  # of ask and tell, where the caller keeps the models
