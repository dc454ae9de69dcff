"""Arms that diverge, under the policy that users get."""

import math
from pathlib import Path

import pytest

from bhpt.policies.registry import make_policy
from bhpt.study import Training
from tests.study.cases import CONFIGS, loss_at
from tests.tuning.cases import check_invariants, executor, new_log, session


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_the_belief_takes_a_diverging_arm_for_a_bad_one(tmp_path: Path, bad: float) -> None:
    run = executor(2)
    run._losses = lambda arm, epoch: bad if arm % 2 and epoch > 1 else loss_at(CONFIGS[arm], epoch)
    log = new_log("40 epochs", Training(1, 12), workers=2)
    state = session(log, tmp_path / "files", run, policy=make_policy("default"))
    check_invariants(state)
    assert state.ledger.spent == 40
    assert state.curves is not None
    counts = state.curves.count_by_arm
    assert counts[::2].sum() > counts[1::2].sum()  # what works is trained further
    assert state.best is not None
    assert math.isfinite(state.best.loss)
