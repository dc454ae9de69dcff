"""What a session finds that takes a study over: how late it is, and what a dead driver left."""

from dataclasses import dataclass, replace
from functools import reduce

from bhpt.domain import Resume
from bhpt.storage.event_rows import Lease
from bhpt.study import State
from bhpt.study.deciding import can_pay_for_a_unit, is_exhausted
from bhpt.study.events import Event
from bhpt.study.folding import apply
from bhpt.study.settling import reconcile


@dataclass(frozen=True, slots=True)
class Takeover:
    """A study at the moment at which a session takes it over.

    Attributes:
        clock: The study's clock; of a deadline, what nobody has seen is gone, too.
        unseen_s: How long the last driver may have run on after it was last seen.
        lost: Units that ended with it, where a budget does not let them be trained again.
    """

    clock: float
    unseen_s: float
    lost: tuple[Event, ...]

    @classmethod
    def of(cls, state: State, before: Lease, beat_s: float) -> "Takeover":
        """From a study as its log has it.

        Args:
            state: The study.
            before: How the last driver held it.
            beat_s: Seconds between two signs of life of a driver.
        """
        rules = state.ledger.budget.rules
        unseen_s = beat_s if before.holder is not None else 0.0
        clock = max(state.clock, before.clock) + (unseen_s if rules.shared else 0.0)
        nothing = dict.fromkeys(state.open, Resume())
        lost = () if rules.restarts else reconcile(state, nothing, clock, unseen_s)
        return cls(clock, unseen_s, lost)

    def applied(self, state: State) -> State:
        """The study after that."""
        return reduce(apply, self.lost, replace(state, ledger=state.ledger.at(self.clock)))


def is_done(state: State) -> bool:
    """Whether a session would start nothing, whoever holds the study."""
    return not state.open and (not can_pay_for_a_unit(state) or is_exhausted(state))
