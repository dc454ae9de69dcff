"""Studies of an earlier version: a unit decided before the one that it goes on from has ended."""

from dataclasses import replace
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.study import Training, fold
from bhpt.study.events import Decided, Failed, Observed
from bhpt.study.folding import apply
from tests.tuning.cases import DyingLog, Killed, check_invariants, executor, new_log, session


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("budget", ["30s", "20 epochs"])
def test_such_a_study_is_read_and_resumed(tmp_path: Path, workers: int, budget: str) -> None:
    log = new_log(budget, Training(2, 12), workers)
    with pytest.raises(Killed):
        session(DyingLog(log, {6: "after"}), tmp_path, executor(workers))
    events = log.read()
    first = next(event for event in reversed(events) if isinstance(event, Decided))
    ahead = replace(
        first, attempt=first.attempt + 1, index=first.index + 1, done=first.done + first.epochs
    )
    log.append([ahead], len(events))
    state = fold(log.read())
    assert [one.unit.arm for one in state.flying][-2:] == [first.arm, first.arm]
    early = Observed(ahead.attempt, (0.5, 0.4), 1.0, 0.0, 0, 1.0, None, state.clock)
    with pytest.raises(Misuse, match="came before its turn"):
        apply(state, early)
    state = session(log, tmp_path, executor(workers))
    assert not state.open
    check_invariants(state)
    assert {e.kind for e in log.read() if isinstance(e, Failed)} <= {"stopped", "lost"}
