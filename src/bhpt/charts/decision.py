"""Why an arm was chosen at a past step: what was predicted of every arm then.

The log keeps the sentence and what was predicted of the chosen arm and the best few others. The
rest is worked out again: a policy is a pure function of the state, so the state as it was gives the
same decision. The chart says so if it does not, because another version decided then.
"""

from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.experts import EXPERTS, Advice
from bhpt.domain import FloatArray, IntArray, Memory, View
from bhpt.policies.interface import Decision, Explanation, advice_of
from bhpt.policies.study_predictor import policy_named
from bhpt.spaces import Config
from bhpt.study import State, priced_view
from bhpt.study.attempts import Attempt
from bhpt.study.events import Decided
from bhpt.study.threads import one_thread

_MOST = 300  # arms that are compared: those with the best predicted ends


@dataclass(frozen=True, slots=True)
class ExpertView:
    """What one expert predicted for the chosen arm.

    Attributes:
        name: One of `EXPERTS`, or "curves": what the tried arms had shown themselves.
        place: Place that it expected the arm to take at the end, 1 for the best; None if it
            had no opinion.
        of: Among how many arms.
        trust: Weight of its opinion among those before training; None for the curves, which the
            network weighs against these.
        agreement: Rank correlation of what it expected with what the tried arms had shown; None
            before three of them had.
        shown: How many arms had.
    """

    name: str
    place: int | None
    of: int
    trust: float | None
    agreement: float | None
    shown: int


@dataclass(frozen=True, eq=False)
class PastDecision:
    """A decision and what was known when it was made.

    Attributes:
        attempt: Which one.
        arm: The arm that was chosen.
        done: Epochs that it had.
        epochs: Epochs that it got.
        clock: When.
        why: The reason, as it was logged.
        config: The arm's configuration.
        status: What came of it: "open", "observed" or "failed".
        message: Why it failed.
        tail: The last lines that its trainer printed before it failed.
        left: What was left of the budget, in words; empty if it is not known.
        arms: The arms that were compared, the best predicted end first, [A].
        end: The best value of the metric that each was predicted to reach, [A].
        spread: One standard deviation of it, [A].
        score: What the policy minimised, NaN where it does not price arms, [A].
        is_recomputed: Whether all arms are there, or only the few that the log keeps.
        recomputed_arm: The arm that is chosen when the decision is made again now; None if it is
            not made again.
        experts: What experts predicted before the arm was trained, and their weights; empty if
            the policy uses none.
    """

    attempt: int
    arm: int
    done: int
    epochs: int
    clock: float
    why: str
    config: Config
    status: str
    message: str
    tail: str
    left: str
    arms: IntArray
    end: FloatArray
    spread: FloatArray
    score: FloatArray
    is_recomputed: bool
    recomputed_arm: int | None
    experts: tuple[ExpertView, ...] = ()


Columns = tuple[IntArray, FloatArray, FloatArray, FloatArray]
"""Arms, and the predicted end, spread and score of each."""


def explain(before: State, attempt: Attempt, memory: Memory) -> PastDecision:
    """Why an attempt was started.

    Args:
        before: The study at the moment of the decision.
        attempt: What was decided, with what came of it.
        memory: What the policy has prepared for the study.
    """
    again = _decided_again(before, attempt.unit.arm, memory)
    left = before.ledger.budget.rules.text(before.ledger.left)
    if again is None:
        return _past(before, attempt, _logged(attempt), left)
    found = _past(before, attempt, _compared(attempt, again.explanation), left)
    return replace(
        found, is_recomputed=True, recomputed_arm=again.decision.arm, experts=again.experts
    )


def at_decision(before: State, decided: Decided) -> State:
    """The study at the moment of a decision, which may come some time after the event before it."""
    return replace(before, ledger=before.ledger.at(decided.clock))


def in_context(state: State, attempt: Attempt) -> str:
    """How the predicted end of the chosen arm compared with the best others, in a sentence.

    Empty if nothing was predicted.

    Args:
        state: The study.
        attempt: What was decided last.
    """
    others = [one for one in attempt.outlook if one.arm != attempt.unit.arm]
    if not others:
        return ""
    value = state.plan.objective.from_loss
    best = min(others, key=lambda one: one.end)
    named = f"arm {best.arm} ({value(best.end):.4g})"
    own = next((one.end for one in attempt.outlook if one.arm == attempt.unit.arm), np.nan)
    if np.isnan(own):
        return f"Nothing was predicted of it; the best predicted end was that of {named}."
    if own <= best.end:
        return f"No arm was predicted to end better; the next best was {named}."
    return f"{named.capitalize()} was predicted to end better{_why_not(state, best.arm)}."


def _why_not(state: State, arm: int) -> str:
    """Why the last decision did not choose an arm with a better predicted end."""
    if state.count(arm) + state.flying_epochs(arm) >= state.plan.training.epochs:
        return ", but is at its last epoch"
    if arm in state.open_arms:
        return ", but was in flight already"
    return "; the policy also counts what it may learn"


def logged_decision(state: State, attempt: Attempt) -> PastDecision:
    """What the log keeps of a decision: quick, and the same at any later moment.

    Args:
        state: The study at any later moment; what was left at the time is not known.
        attempt: What was decided, with what came of it.
    """
    return _past(state, attempt, _logged(attempt), "")


def _past(state: State, attempt: Attempt, columns: Columns, left: str) -> PastDecision:
    arms, end, spread, score = columns
    value = 1 if state.plan.objective.mode == "min" else -1
    return PastDecision(
        attempt=attempt.number,
        arm=attempt.unit.arm,
        done=attempt.done,
        epochs=attempt.unit.epochs,
        clock=attempt.started,
        why=attempt.why,
        config=state.configs[attempt.unit.arm],
        status=attempt.status,
        message=attempt.message,
        tail=attempt.tail,
        left=left,
        arms=arms,
        end=value * end,
        spread=spread,
        score=score,
        is_recomputed=False,
        recomputed_arm=None,
    )


@dataclass(frozen=True, eq=False)
class _Again:
    """A decision made again, its explanation, and what experts say of an arm."""

    decision: Decision
    explanation: Explanation
    experts: tuple[ExpertView, ...]


def _decided_again(before: State, arm: int, memory: Memory) -> _Again | None:
    """The decision made again; None if no policy made it or none is known.

    Args:
        before: The study at the moment of the decision.
        arm: The arm that was chosen then, whose expert scores are returned.
        memory: What the policy has prepared for the study.
    """
    policy = policy_named(before.plan.policy)
    asked = arm in before.queue or arm in before.tried.failing  # enqueued, or tried once more
    if policy is None or asked:
        return None
    looked = priced_view(before)
    if looked is None:
        return None
    view = replace(looked[0], memory=memory)
    with one_thread():
        decision = policy.decide(view)
        if decision is None:
            return None
        said = advice_of(policy, view, arm)
        experts = () if said is None else _views(said, arm, view)
        return _Again(decision, decision.explanation, experts)


def _views(said: Advice, arm: int, view: View) -> tuple[ExpertView, ...]:
    """What each expert, and the curves, predict for an arm."""
    found = [
        ExpertView(
            name=name,
            place=_place(said.ranks[expert], said.arms, arm),
            of=len(said.arms),
            trust=float(said.trust[expert]),
            agreement=_known(float(said.agreement[expert])),
            shown=said.shown,
        )
        for expert, name in enumerate(EXPERTS)
        if np.ptp(said.ranks[expert]) > 0
    ]
    visited = view.curves.visited
    place = _place(-view.curves.best_by_row, visited, arm)
    return (*found, ExpertView("curves", place, len(visited), None, None, len(visited)))


def _place(scores: FloatArray, arms: IntArray, arm: int) -> int | None:
    """Place of an arm, 1 for the highest score; None if it is not among them."""
    own = scores[arms == arm]
    return None if not len(own) else 1 + int((scores > own[0]).sum())


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _compared(attempt: Attempt, found: Explanation) -> Columns:
    """What was predicted of the arms with the best ends, and of the chosen one."""
    if not np.isfinite(found.end).any():
        return _logged(attempt)
    order = np.argsort(found.end, kind="stable")[:_MOST]
    arms = order[np.isfinite(found.end[order])]
    chosen = attempt.unit.arm
    if chosen not in arms:
        arms = np.append(arms, chosen)
    return arms, found.end[arms], found.spread[arms], found.value[arms]


def _logged(attempt: Attempt) -> Columns:
    """What the log keeps of a decision."""
    rows = [(one.arm, one.end, one.spread, one.value) for one in attempt.outlook]
    columns = np.array(rows, float).reshape(-1, 4).T
    return columns[0].astype(np.int64), columns[1], columns[2], columns[3]
