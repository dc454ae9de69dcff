"""When a running unit has had enough: it hangs, or its budget says so. Pure."""

import math
from dataclasses import dataclass

from bhpt.domain.budget_kinds import Enough, Extend, UnitUsage
from bhpt.study import State
from bhpt.study.attempts import Attempt

_HUNG_TIMES = 10.0  # a unit that takes so many times its prediction hangs
_HUNG_LEAST_S = 60.0  # but none is killed before, by a limit that was only learned


@dataclass(frozen=True, slots=True)
class Stop:
    """A unit must end.

    Attributes:
        kind: As in `Failed.kind`.
        message: One line for a person.
        at_once: Whether there is no time to end in good order.
    """

    kind: str
    message: str
    at_once: bool = False


def hung_after(state: State, expected_s: float | None) -> float | None:
    """Seconds after which a unit counts as hung; None if nothing is known yet."""
    if state.plan.training.limit_s is not None:
        return state.plan.training.limit_s
    if expected_s is None:
        return None
    return max(_HUNG_LEAST_S, _HUNG_TIMES * expected_s)


def verdict(
    state: State, attempt: Attempt, busy_s: float, clock: float, grace_s: float
) -> Stop | Extend | None:
    """What to do about a unit that has been busy for so long; None to let it run."""
    found = state.ledger.budget.rules.verdict(_usage(state, attempt, busy_s, clock, grace_s))
    return Stop("stopped", found.message, found.at_once) if isinstance(found, Enough) else found


def next_look(state: State, attempt: Attempt, busy_s: float, clock: float, grace_s: float) -> float:
    """Seconds until `verdict` may change."""
    return state.ledger.budget.rules.next_look(_usage(state, attempt, busy_s, clock, grace_s))


def paid_s(state: State, attempt: Attempt, busy_s: float, clock: float) -> float | None:
    """Busy seconds after which a unit is killed even if the driver is stopped; None for no end."""
    paid = state.ledger.budget.rules.paid_s(_usage(state, attempt, busy_s, clock, 0.0))
    return paid if math.isfinite(paid) else None


def _usage(
    state: State, attempt: Attempt, busy_s: float, clock: float, grace_s: float
) -> UnitUsage:
    return UnitUsage(attempt.reserved, busy_s, clock, state.ledger.left, grace_s)
