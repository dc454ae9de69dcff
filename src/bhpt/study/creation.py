"""The first events of a study from what a user gives."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bhpt.beliefs.earlier_studies import EarlierStudy, summarise
from bhpt.domain import Misuse, Objective
from bhpt.domain.arguments import whole_number
from bhpt.domain.budget import Budget
from bhpt.spaces import Config
from bhpt.spaces.configs import identity, plain_config
from bhpt.study.events import ArmsAdded, Enqueued, StudyCreated
from bhpt.study.plan import Plan, Search, Training
from bhpt.study.state import State

if TYPE_CHECKING:
    from bhpt.spaces import Space

_LONGEST = 256  # epochs an arm may train unless the user sets them: the belief's grid
_TIMED = 100  # the same where the budget does not count epochs
_FEW = 3  # configurations of which each may use the whole budget
_FIRST_DRAW = 0
_MOST_EPOCHS = 100_000  # what is planned for an arm is held in memory
_MOST_CANDIDATES = 100_000  # each is compared with all before it


def default_epochs(
    budget: Budget, unit: int, space: object = None, fixed: Mapping[str, object] | None = None
) -> int:
    """How far an arm may train by default: half as far as the budget, within limits.

    With the whole budget as its horizon, a study has only one full training to spend and may spend
    it on the first configuration that looks good. A few listed configurations may go that far, so
    that a budget that is added later can be spent on them.

    Args:
        budget: The hard limit.
        unit: Epochs in one unit.
        space: What is searched; None if that is not known, and then it has many configurations.
        fixed: Hyper-parameters that are not tuned.
    """
    bought = budget.rules.epochs_bought
    if bought is None:
        return max(_TIMED, unit)
    few = space is not None and _size(space, fixed or {}) <= _FEW
    half = math.ceil(bought / 2 / max(unit, 1)) * max(unit, 1)  # a bad unit is refused later
    return max(min(bought if few else half, _LONGEST), unit)


def planned_training(
    budget: Budget,
    unit: int | None,
    max_epochs: int | None,
    space: object,
    fixed: Mapping[str, object] | None,
    like: Training = Training(),  # noqa: B008  # frozen
) -> Training:
    """How one arm is trained, from what a person says of it.

    Args:
        budget: The hard limit.
        unit: Epochs in one unit; None for one, which may grow (`Training.grows`).
        max_epochs: How far an arm may train; None for `default_epochs`.
        space: What is searched; None if that is not known.
        fixed: Hyper-parameters that are not tuned; None for none.
        like: The rest.

    Raises:
        Misuse: One of them is no whole number, or they do not go together.
    """
    each = 1 if unit is None else whole_number("unit", unit)
    if max_epochs is None:
        most = default_epochs(budget, each, space, fixed)
    else:
        most = whole_number("max_epochs", max_epochs)
    return replace(like, unit=each, epochs=most, grows=unit is None)


def _size(space: object, fixed: Mapping[str, object]) -> float:
    """How many configurations there are."""
    from bhpt.spaces import parse_space  # takes half a second, and reading a study needs none
    from bhpt.spaces.fixed_values import fix

    parsed = fix(parse_space(space), fixed)
    return len(parsed) if isinstance(parsed, list) else parsed.size


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
    initial: Sequence[Mapping[str, object]] = (),
    fixed: Mapping[str, object] | None = None,
    earlier: tuple[EarlierStudy, ...] = (),
) -> tuple[StudyCreated, ArmsAdded, *tuple[Enqueued, ...]]:
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
        initial: Configurations that are tried first, in this order. A default that the space
            declares comes before them.
        fixed: Hyper-parameters that are not tuned but have these values.
        earlier: What earlier studies showed.

    Raises:
        Misuse: If any of it makes no sense.
    """
    from bhpt.spaces import parse_space  # takes half a second, and reading a study needs none
    from bhpt.spaces.fixed_values import fix

    _refuse_nonsense(seed, training, candidates)
    parsed = fix(parse_space(space), fixed or {})
    search = Search() if candidates is None else Search(candidates=candidates)
    first = _tried_first(parsed, initial)
    if not isinstance(parsed, list):
        search = Search(parsed.text, search.candidates, search.near, search.every)
        rng = np.random.default_rng((seed, 0, _FIRST_DRAW))
        arms = ArmsAdded(_joined(first, parsed.draw_apart(search.candidates, rng)), "drawn")
    else:
        arms = ArmsAdded(_joined(first, parsed), "listed")
    metric = objective or Objective()
    if training.untrained is not None:
        training = replace(training, untrained=metric.to_loss(training.untrained))
    weights = _networks(policy)
    plan = Plan(budget, seed, policy, workers, trainer, training, search, weights, metric, earlier)
    queue = (Enqueued(tuple(range(len(first)))),) if first else ()
    return StudyCreated(plan), arms, *queue


def wanted_config(space: "Space | list[Config]", config: Mapping[str, object]) -> Config:
    """A configuration to be tried, in the form of the study's arms.

    Raises:
        Misuse: It does not lie in the space, or has no JSON form.
    """
    return plain_config(config) if isinstance(space, list) else space.complete(config)


def _tried_first(
    space: "Space | list[Config]", initial: Sequence[Mapping[str, object]]
) -> list[Config]:
    """The declared default and what the user wants to be tried, each once."""
    if isinstance(initial, Mapping | str) or not isinstance(initial, Sequence):
        raise Misuse("initial is a list of configurations, such as [{'lr': 0.01}]")
    default = None if isinstance(space, list) else space.declared_default
    wanted = [wanted_config(space, config) for config in initial]
    return _once([default, *wanted] if default is not None else wanted)


def _joined(first: list[Config], others: list[Config]) -> tuple[Config, ...]:
    return tuple(_once([*first, *others]))


def _once(configs: list[Config]) -> list[Config]:
    """The different configurations, in order."""
    found: dict[str, Config] = {}
    for config in configs:
        found.setdefault(identity(config), config)
    return list(found.values())


def _refuse_nonsense(seed: int, training: Training, candidates: int | None) -> None:
    """Refuse what a new study could not be run with; a stored one is taken as it is.

    Raises:
        Misuse: One of these.
    """
    if seed < 0:
        raise Misuse(f"a seed is a whole number from 0, not {seed}")
    if candidates is not None and candidates > _MOST_CANDIDATES:
        raise Misuse(
            f"{candidates} candidates are more than can be compared: draw at most "
            f"{_MOST_CANDIDATES}, and more come when all were tried"
        )
    if training.epochs > _MOST_EPOCHS:
        raise Misuse(
            f"arms may train {training.epochs} epochs: at most {_MOST_EPOCHS} can be planned; "
            "let an epoch be more"
        )
    if training.untrained is not None and not math.isfinite(training.untrained):
        raise Misuse(f"the loss of an untrained model must be finite, not {training.untrained}")


def summarised(state: State) -> EarlierStudy:
    """What a new study keeps of this one: configurations that were trained, and their ranks."""
    if state.curves is None:
        return EarlierStudy((), ())
    return summarise(state.curves, state.configs)


def _networks(policy: str) -> dict[str, str]:
    """Digests of the weights that a named policy decides with, by network."""
    from bhpt.policies.registry import networks  # reading a study needs no policy

    return networks(policy)


def note_of_other_weights(plan: Plan) -> str | None:
    """One line if the study's policy has other weights by now than when the study was created.

    Args:
        plan: The study's plan. Nothing can be said if it does not name its weights, as in logs
            of early versions.
    """
    now = _networks(plan.policy)
    other = [name for name, digest in now.items() if plan.networks.get(name, digest) != digest]
    if not other:
        return None
    changes = (f"{name} {plan.networks[name][:12]!r}, now {now[name][:12]!r}" for name in other)
    return (
        f"note: this study was created with other weights of `{plan.policy}` "
        f"({'; '.join(changes)}): it goes on, but decides with those of now"
    )
