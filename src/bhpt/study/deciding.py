"""Which unit comes next, as events: pure, so that a replay decides alike."""

import math
from dataclasses import dataclass, replace

from bhpt.domain import Memory, Misuse, View
from bhpt.domain.arguments import refuse_other_than, whole_number
from bhpt.domain.arrays import places_of_lowest
from bhpt.domain.budget_kinds import UnitCost
from bhpt.policies.interface import Decision, Explanation, Policy
from bhpt.study.candidates import fresh_arms
from bhpt.study.events import ArmsAdded, Decided, Event, Outlook
from bhpt.study.folding import apply
from bhpt.study.pricing import Prospects, Reruns, priced_view, stopping
from bhpt.study.state import State
from bhpt.study.threads import one_thread

_OUTLOOKS = 5  # arms whose prediction is kept with each decision


@dataclass(frozen=True, eq=False)
class PlannedUnit:
    """A unit to start.

    Attributes:
        fresh: New candidates that come first, if any.
        decided: The decision with its reservation.
        view: The study as the policy saw it.
    """

    fresh: ArmsAdded | None
    decided: Decided
    view: View

    @property
    def events(self) -> tuple[Event, ...]:
        """What to record before the unit is submitted."""
        return (self.decided,) if self.fresh is None else (self.fresh, self.decided)

    def on_worker(self, worker: int | None) -> "PlannedUnit":
        """The same, given to a worker."""
        return replace(self, decided=replace(self.decided, worker=worker))


def next_unit(
    state: State,
    policy: Policy,
    clock: float,
    reruns: Reruns | None = None,
    memory: Memory | None = None,
) -> PlannedUnit | None:
    """The next unit to start; None if none can be started now.

    New candidates come first if their time has come, then the decision with its reservation.
    Randomness comes from the seed and the number of decisions, so a replay decides alike.

    Args:
        state: The study.
        policy: Decides.
        clock: The study's clock.
        reruns: Epochs that an arm would train again, where more is known than the log has.
        memory: What the policy has prepared for this study; a fresh one if None.
    """
    now = replace(state, ledger=state.ledger.at(clock))
    if len(now.open) >= now.session_workers or now.ledger.left <= 0:
        return None
    fresh = fresh_arms(now)
    if fresh is not None:
        now = apply(now, fresh)
    looked = priced_view(now, reruns, memory)
    if looked is None:
        return None
    view, prospects = looked
    with one_thread():
        decision = _again(now, view) or _enqueued(now, view) or policy.decide(view)
        if decision is None:
            return None
        refuse_other_than("the decision of a policy", decision, Decision, "Decision(arm, reason)")
        return PlannedUnit(fresh, _decided(now, prospects, decision, clock), view)


def is_exhausted(state: State) -> bool:
    """Whether no arm can go on, whatever is left.

    Each is at its last epoch or given up, and the space has no further ones.
    """
    if state.curves is None:
        return False
    unfinished = state.curves.count_by_arm < state.plan.training.epochs
    unfinished[state.tried.columns.given_up] = False
    return not unfinished.any() and fresh_arms(state) is None


def can_pay_for_a_unit(state: State) -> bool:
    """Whether what is left is worth a session: it pays for a unit of an arm that can go on."""
    if not state.can_pay:
        return False
    if state.curves is None or priced_view(state) is not None:
        return True
    fresh = fresh_arms(state)
    if fresh is None:
        return is_exhausted(state)  # then it is not for what is left that nothing can start
    return priced_view(apply(state, fresh)) is not None


def _again(state: State, view: View) -> Decision | None:
    """The arm whose last attempt failed, while it has tries left."""
    arm = next((arm for arm in state.tried.failing if view.choosable[arm]), None)
    if arm is None:
        return None
    why = f"its last attempt failed, this is try {state.arm(arm).failures + 1}"
    return Decision(arm, Explanation.in_words(why, view.arms))


def _enqueued(state: State, view: View) -> Decision | None:
    """The first enqueued arm, if it can be trained now."""
    arm = next((arm for arm in state.queue if view.choosable[arm]), None)
    if arm is None:
        return None
    return Decision(arm, Explanation.in_words("it was asked for", view.arms))


def _decided(state: State, prospects: Prospects, decision: Decision, clock: float) -> Decided:
    """The decision with its reservation."""
    arm = whole_number("the arm of a decision", decision.arm)
    if not (0 <= arm < len(prospects.possible) and prospects.possible[arm]):
        raise Misuse(f"the policy chose arm {arm}, which cannot be trained now")
    done = state.count(arm)
    return Decided(
        attempt=len(state.attempts),
        arm=arm,
        index=state.arm(arm).units,
        epochs=min(prospects.unit, state.plan.training.epochs - done),
        done=done,
        cost=_reservation(state, prospects, arm),
        seconds=prospects.seconds(arm, state.tried.timings_of(arm)),
        why=sentence(state, arm, decision.explanation),
        outlook=_outlook(arm, decision.explanation),
        clock=clock,
    )


def sentence(state: State, arm: int, explanation: Explanation) -> str:
    """Why an arm is trained, for a person: its prediction as the metric reads it, the reason."""
    end, spread = explanation.end[arm], explanation.spread[arm]
    if not math.isfinite(end):
        return f"arm {arm}: {explanation.why}"
    floor = -math.inf if state.curves is None else state.curves.lowest_possible
    value = state.plan.objective.from_loss(max(float(end), floor))
    about = f" ± {spread:.2g}" if math.isfinite(spread) else ""
    return (
        f"arm {arm} at epoch {state.count(arm)}: predicted to end at "
        f"{value:.4g}{about}; {explanation.why}"
    )


def _reservation(state: State, prospects: Prospects, arm: int) -> float:
    """What is set aside for a unit."""
    cost = UnitCost(
        typical=float(prospects.typical[arm]),
        safe=float(prospects.safe[arm]),
        timed=prospects.times is not None,
        stopping=stopping(state),
    )
    idle = state.session_workers - len(state.open)
    return state.ledger.budget.rules.reserve(cost, state.ledger.left, idle)


def _outlook(chosen: int, explanation: Explanation) -> tuple[Outlook, ...]:
    """The predictions for the chosen arm and the best few others."""
    best = places_of_lowest(explanation.end, _OUTLOOKS)
    arms = [chosen, *(int(arm) for arm in best if arm != chosen)][:_OUTLOOKS]
    shown = [
        Outlook(
            arm,
            float(explanation.end[arm]),
            float(explanation.spread[arm]),
            float(explanation.value[arm]),
        )
        for arm in arms
    ]
    return tuple(one for one in shown if one.arm == chosen or math.isfinite(one.end))
