"""Studies to look at."""

from pathlib import Path

import bhpt
from bhpt.domain import Objective
from bhpt.domain.budget import Budget
from bhpt.study import Training
from bhpt.study.creation import first_events
from bhpt.study.events import Decided, Event, Failed, Observed, SessionEnded, SessionStarted
from tests.reports.cases import SPACE, loss_at

HOSTILE = "<script>alert(1)</script>"


def stored_study(file: Path, units: int = 15, **more: object) -> bhpt.Study:
    """A study on the disk after so many units, still open; one value of it is hostile."""
    space = {**SPACE, "kind": [HOSTILE, "plain"]}
    study = bhpt.Study(space, "30 epochs", max_epochs=20, keep=bhpt.stored(file), **more)  # type: ignore[arg-type]
    advance(study, units)
    return study


def advance(study: bhpt.Study, units: int) -> None:
    """Train so many units."""
    for _ in range(units):
        unit = study.ask()
        if unit is None:
            return
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)


def large_study(file: Path, arms: int, units: int) -> None:
    """Write the log of a study with so many arms and units, without deciding on any of them.

    Arms are trained in turn, every 97th unit fails.
    """
    configs = [
        {"rate": 0.001 * 1.01**arm, "depth": 1 + arm % 8, "kind": HOSTILE if arm % 3 else "plain"}
        for arm in range(arms)
    ]
    training = Training(1, -(-units // arms) + 1)
    budget = Budget.parse(f"{units + 10} epochs")
    events = first_events(
        configs,
        budget,
        training=training,
        seed=0,
        policy="default",
        workers=2,
        objective=Objective(),
    )
    log = bhpt.stored(file)(events)
    position = len(events)
    rest: list[Event] = [SessionStarted("here", 1, 2, 0.0)]
    done, index = [0] * arms, [0] * arms
    for attempt in range(units):
        arm, clock = attempt % arms, float(attempt)
        decided = Decided(
            attempt, arm, index[arm], 1, done[arm], 1.0, 1.0, f"arm {arm}: its turn", (), clock
        )
        rest.append(decided)
        if attempt % 97 == 96:
            failed = Failed(
                attempt,
                "crashed",
                "out of luck",
                f"{HOSTILE} at line 3",
                1.0,
                1.0,
                False,
                clock + 1,
            )
            rest.append(failed)
            continue
        done[arm], index[arm] = done[arm] + 1, index[arm] + 1
        loss = loss_at({"rate": 0.001 * 1.01**arm, "depth": 1 + arm % 8}, done[arm])
        rest.append(Observed(attempt, (loss,), 1.0, 0.0, 0, 1.0, None, clock + 1))
    rest.append(SessionEnded("done", float(units)))
    log.append(rest, position)
    log.close()
