"""When a running unit has had enough: hung, out of money, past the deadline. Pure."""

from dataclasses import dataclass

from bhpt.study import State
from bhpt.study.pricing import STOPPING_S
from bhpt.study.state import Attempt

_HUNG_TIMES = 10.0  # a unit that takes so many times its prediction hangs
_HUNG_LEAST_S = 60.0  # but none is killed before, by a limit that was only learned
_MORE = 1.5  # a reservation that is used up grows by this factor
_WORTH = 0.02  # an extension by less than this part is not worth it
_KILL_S = STOPPING_S / 2  # busy time that a kill takes


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


@dataclass(frozen=True, slots=True)
class Extend:
    """A unit may go on, at this reservation."""

    cost: float


def hung_after(state: State, expected_s: float | None) -> float | None:
    """Seconds after which a unit counts as hung; None if nothing is known yet."""
    if state.plan.training.limit_s is not None:
        return state.plan.training.limit_s
    if expected_s is None:
        return None
    return max(_HUNG_LEAST_S, _HUNG_TIMES * expected_s)


def verdict(state: State, attempt: Attempt, busy_s: float, clock: float) -> Stop | Extend | None:
    """What to do about a unit that has been busy for so long; None to let it run."""
    budget = state.ledger.budget
    if budget.kind == "seconds" and clock >= budget.amount:
        return Stop("stopped", "the deadline came first")
    if budget.kind == "dollars":
        return _pay(state, attempt, busy_s)
    return None


def _pay(state: State, attempt: Attempt, busy_s: float) -> Stop | Extend | None:
    """Money: raise the reservation before it is used up, or stop while it is not exceeded."""
    budget = state.ledger.budget
    bought = budget.seconds_for(attempt.reserved)
    if busy_s < min(0.9 * bought, bought - STOPPING_S):
        return None
    more = min(state.ledger.left, (_MORE - 1) * attempt.reserved)
    if more > _WORTH * attempt.reserved:
        return Extend(attempt.reserved + more)
    if busy_s < bought - _KILL_S:
        return None
    return Stop("stopped", "the money ran out", at_once=True)


def next_look(state: State, attempt: Attempt, busy_s: float, clock: float) -> float:
    """Seconds until `verdict` may change."""
    budget = state.ledger.budget
    if budget.kind == "seconds":
        return budget.amount - clock
    if budget.kind == "epochs":
        return float("inf")
    bought = budget.seconds_for(attempt.reserved)
    looks = (min(0.9 * bought, bought - STOPPING_S) - busy_s, bought - _KILL_S - busy_s)
    return min((look for look in looks if look > 0), default=0.0)
