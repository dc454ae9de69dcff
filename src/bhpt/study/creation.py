"""From what a user says to the first events of a study."""

from dataclasses import replace

import numpy as np

from bhpt.beliefs.earlier_studies import EarlierStudy, summary
from bhpt.domain import Objective
from bhpt.domain.budget import Budget
from bhpt.policies.registry import networks
from bhpt.spaces import Space, parse_space
from bhpt.study.events import ArmsAdded, StudyCreated
from bhpt.study.plan import Plan, Search, Training
from bhpt.study.state import State

_LONGEST = 256  # epochs an arm may train unless the user says otherwise: the belief's grid
_TIMED = 100  # the same where the budget does not count epochs
_FIRST_DRAW = 0


def default_epochs(budget: Budget, unit: int) -> int:
    """How far an arm may train if nobody says: as far as the budget, within reason."""
    bought = budget.rules.epochs_bought
    most = _TIMED if bought is None else min(bought, _LONGEST)
    return max(most, unit)


def first_events(
    space: object,
    budget: Budget,
    *,
    training: Training,
    seed: int = 0,
    policy: str = "default",
    workers: int = 1,
    trainer: dict[str, object] | None = None,
    candidates: int | None = None,
    objective: Objective | None = None,
    earlier: tuple[EarlierStudy, ...] = (),
) -> tuple[StudyCreated, ArmsAdded]:
    """The creation of a study and its first arms.

    Args:
        space: A `ConfigurationSpace`, a dictionary of ranges or a list of configurations.
        budget: The hard limit.
        training: How one arm is trained; its `untrained` is a value of the metric.
        seed: Of all randomness.
        policy: Its name.
        workers: How many units may be in flight.
        trainer: What to remember of the trainer.
        candidates: How many arms are drawn from a space at the start.
        objective: Which metric decides what is best; the lowest `loss` if None.
        earlier: What earlier studies showed.

    Raises:
        Misuse: If any of it makes no sense.
    """
    parsed = parse_space(space)
    search = Search() if candidates is None else Search(candidates=candidates)
    if isinstance(parsed, Space):
        search = Search(parsed.text, search.candidates, search.near, search.every)
        rng = np.random.default_rng((seed, 0, _FIRST_DRAW))
        arms = ArmsAdded(tuple(parsed.draw(search.candidates, rng)), "drawn")
    else:
        arms = ArmsAdded(tuple(parsed), "listed")
    metric = objective or Objective()
    if training.untrained is not None:
        training = replace(training, untrained=metric.to_loss(training.untrained))
    weights = networks(policy)
    plan = Plan(budget, seed, policy, workers, trainer, training, search, weights, metric, earlier)
    return StudyCreated(plan), arms


def summarised(state: State) -> EarlierStudy:
    """What a new study keeps of this one: configurations that were trained, and their ranks."""
    if state.curves is None:
        return EarlierStudy((), ())
    return summary(state.curves, state.configs)


def note_of_other_weights(plan: Plan) -> str | None:
    """One line if the study's policy has other weights by now than when the study was created.

    Args:
        plan: The study's plan. Without a note of its weights, as in studies of before, nothing
            can be said.
    """
    now = networks(plan.policy)
    other = [name for name, digest in now.items() if plan.networks.get(name, digest) != digest]
    if not other:
        return None
    changes = (f"{name} {plan.networks[name][:12]}, now {now[name][:12]}" for name in other)
    return (
        f"note: this study was created with other weights of `{plan.policy}` "
        f"({'; '.join(changes)}): it goes on, but decides with those of now"
    )
