"""Which policy would end best from here, by playing each of them in the same draws.

See `policies.played` for what is played. As in a forecast, gains count as far as such predictions
came true earlier in the study (`hindsight`); that changes how much a policy is ahead, not which one
is.

Notation:
    P  policies, S  draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bhpt.domain import FloatArray, Memory, Misuse, Objective, View
from bhpt.domain.arguments import refuse_one_text
from bhpt.domain.budget import Budget
from bhpt.policies.played import PlayedStudy, draw_worlds_of_all, play_all
from bhpt.policies.registry import make_policy
from bhpt.policies.study_predictor import policy_named, predictor_of
from bhpt.reports.hindsight import trust
from bhpt.reports.worlds import GainTrust, added_amount, ends_text, look_at
from bhpt.storage import read_store
from bhpt.study import State
from bhpt.study.html_summary import table_html
from bhpt.study.threads import one_thread

_SEED = 3
_DECISIONS = 3000  # of one policy in all draws together: some ten seconds
_FEWEST, _MOST = 8, 48  # draws


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """What a policy would reach.

    Attributes:
        policy: Its name.
        expected: Mean of the best value of the metric at the end.
        low: Lower end of its 90% interval.
        high: Upper end; one end is the best so far, since nothing better may come.
        behind: By how much it ends worse than the best of the policies, in the mean of the same
            draws; 0 for that one.
        error: Standard error of `behind`.
        arms: How many arms get a part of the budget, on average.
    """

    policy: str
    expected: float
    low: float
    high: float
    behind: float
    error: float
    arms: float


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """Policies from best to worst.

    Attributes:
        budget: The limit so far.
        spent_on: The budget that they were played with: what is left, and what was added.
        best: The best value of the metric so far.
        outcomes: One for each policy, best first.
        draws: How many worlds were drawn.
        objective: The metric and its direction; all values but `behind` and `error` are in it.
    """

    budget: Budget
    spent_on: float
    best: float
    outcomes: tuple[PolicyOutcome, ...]
    draws: int
    objective: Objective = field(default_factory=Objective)

    @property
    def sentence(self) -> str:
        """Which policy is best from here, and how surely, for a person."""
        first = self.outcomes[0]
        clear = [one for one in self.outcomes[1:] if one.behind > 2 * one.error]
        level = [one.policy for one in self.outcomes[1:] if one not in clear]
        if len(self.outcomes) == 1:
            return f"{first.policy} alone was played"
        if not clear:
            return "no policy is surely better than another from here"
        nearest = min(clear, key=lambda one: one.behind)
        ahead = f"ahead of {nearest.policy} by {nearest.behind:.3g} ± {nearest.error:.2g}"
        others = f"; not surely ahead of {', '.join(level)}" if level else ""
        return f"{first.policy} is expected to end best, {ahead}{others}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [
            (one.policy, f"{one.expected:.5g} ({ends_text(one.low, one.high)})")
            for one in self.outcomes
        ]
        return table_html([*rows, ("", self.sentence)])


def compare_policies(
    study: str | Path,
    policies: Sequence[str],
    more: str | Budget | None = None,
    draws: int | None = None,
) -> PolicyComparison:
    """Compare policies from here on, for a study that is kept somewhere; it is only read.

    Args:
        study: Its file or address.
        policies: Their names.
        more: Budget to add to what is left.
        draws: How many worlds; as many as some ten seconds a policy allow if None.

    Raises:
        Misuse: There is no such study or policy, or the study has nothing to predict from.
    """
    with read_store(study) as reader:
        state = reader.folded().state
    return compared(state, policies, more, draws)


def compared(
    state: State,
    policies: Sequence[str],
    more: str | Budget | None = None,
    draws: int | None = None,
) -> PolicyComparison:
    """Compare policies from here on; see `compare_policies`."""
    refuse_one_text("policies", policies, "['default', 'asha']")
    names = tuple(dict.fromkeys(policies))
    if not names:
        raise Misuse("name at least one policy to play, such as default,asha")
    made = [make_policy(name) for name in names]
    added = 0.0 if more is None else added_amount(state, more)
    view = _view(state, added)
    predictor = predictor_of(policy_named(state.plan.policy))
    size = _draws(view) if draws is None else draws
    if size < 2:
        raise Misuse(f"{size} draws say nothing of how sure a comparison is: at least 2")
    with one_thread():
        rng = np.random.default_rng((state.plan.seed, _SEED))
        worlds = draw_worlds_of_all(view, predictor.predict(view), size, rng)
        if worlds is None:
            raise Misuse("nothing is predicted of any configuration yet: let the study go on first")
        played = play_all(view, made, worlds)
    trusted = trust(state, predictor)
    gains = GainTrust(view.curves.best, trusted, view.curves.lowest_possible)
    objective = state.plan.objective
    return PolicyComparison(
        budget=state.ledger.budget,
        spent_on=view.left,
        best=objective.from_loss(view.curves.best),
        outcomes=_outcomes(names, played, gains, objective),
        draws=size,
        objective=objective,
    )


def _view(state: State, added: float) -> View:
    """The study with what is left and what is added."""
    if state.best is None:
        raise Misuse("nothing to play from: the study has not seen a finite loss yet")
    looked = look_at(state, added)
    if looked is None:
        raise Misuse(
            "nothing can be started with what is left: name a budget to add, such as "
            f"--add-budget '{state.ledger.budget}'"
        )
    return replace(looked[0], memory=Memory())


def _draws(view: View) -> int:
    """As many draws as a few seconds a policy allow."""
    units = max(1, view.units_left)
    return int(np.clip(_DECISIONS // units, _FEWEST, _MOST))


def _outcomes(
    names: Sequence[str],
    played: Sequence[Sequence[PlayedStudy]],
    gains: GainTrust,
    objective: Objective,
) -> tuple[PolicyOutcome, ...]:
    """One for each policy, best first."""
    raw = np.array([[one.loss for one in row] for row in played])  # [P, S]
    losses = gains.of(raw)
    order = np.argsort(losses.mean(axis=1), kind="stable")
    behind = losses - losses[order[0]]
    return tuple(
        _outcome(
            names[place],
            raw[place],
            behind[place],
            float(np.mean([one.arms for one in played[place]])),
            gains,
            objective,
        )
        for place in order.tolist()
    )


def _outcome(
    name: str,
    losses: FloatArray,
    behind: FloatArray,
    arms: float,
    gains: GainTrust,
    objective: Objective,
) -> PolicyOutcome:
    """What one policy reached in all draws, [S] each."""
    mean, low = gains.expected(losses)
    ends = sorted(objective.from_loss(loss) for loss in (low, gains.best))
    return PolicyOutcome(
        policy=name,
        expected=objective.from_loss(mean),
        low=ends[0],
        high=ends[1],
        behind=float(behind.mean()),
        error=float(behind.std(ddof=1) / np.sqrt(len(behind))),
        arms=arms,
    )
