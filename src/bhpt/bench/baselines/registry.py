"""Baselines by name: what the benchmark runs beside the policies that people tune with.

Rules run here as they are printed, without the guard that studies have (`policies.sensible`):
what is compared is what they choose. On synthetic tasks the policies of the paper get the model
that the curves were drawn from, as in the paper; `make_rule` here makes every rule and baseline
with or without it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bhpt.bench.baselines.best_played import BestPlayed
from bhpt.bench.baselines.entropy_search import EntropySearch
from bhpt.bench.baselines.fabolas import Fabolas
from bhpt.bench.baselines.gp_ei import GpEi, drawn_landscape
from bhpt.bench.baselines.misled import MisledPolicy
from bhpt.bench.baselines.rollout import Rollout
from bhpt.bench.baselines.smac import make_smac
from bhpt.bench.baselines.to_the_end import ToTheEnd
from bhpt.bench.baselines.truth import (
    Truth,
    freeze_thaw_belief,
    paper_or_true_belief,
    sampled_belief,
    true_belief,
)
from bhpt.policies import registry
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.interface import Policy
from bhpt.policies.learned import Learned
from bhpt.policies.next_unit import NextUnit
from bhpt.policies.plans import Plans


@dataclass(frozen=True)
class BaselineEntry:
    """A method of the benchmark that can be named.

    Attributes:
        name: What a person types.
        about: One line for `bhpt policies`.
        make: From the true model, None if the task has none, to the policy.
    """

    name: str
    about: str
    make: Callable[[Truth | None], Policy]


def gp_ei(truth: Truth | None) -> Policy:
    """GP-EI; on synthetic tasks it gets the prior of the final losses, as in the paper."""
    known = None if truth is None else drawn_landscape(truth.structure, truth.hypers)
    return ToTheEnd(GpEi(known))


BASELINES = (
    BaselineEntry(
        "q-alone",
        "bhpt without committing",
        lambda truth: Bhpt(paper_or_true_belief(truth), None, False),
    ),
    BaselineEntry(
        "q-eps-alone",
        "bhpt-eps without committing",
        lambda truth: Bhpt(paper_or_true_belief(truth), 0.5, False),
    ),
    BaselineEntry(
        "bhpt-sampled", "bhpt, never told the truth", lambda truth: Bhpt(sampled_belief(truth))
    ),
    BaselineEntry(
        "bhpt-eps-sampled", "bhpt-eps, likewise", lambda truth: Bhpt(sampled_belief(truth), 0.5)
    ),
    BaselineEntry(
        "next-unit-sampled", "next-unit, likewise", lambda truth: NextUnit(sampled_belief(truth))
    ),
    BaselineEntry("gp-ei", "a Gaussian process on finished arms, expected improvement", gp_ei),
    BaselineEntry("smac", "the package SMAC on finished arms (extra: smac)", lambda _: make_smac()),
    BaselineEntry(
        "fabolas", "information per cost; part of the training as fidelity", lambda _: Fabolas()
    ),
    BaselineEntry(
        "freeze-thaw",
        "entropy search on asymptotes, basket of old and new arms",
        lambda truth: EntropySearch(freeze_thaw_belief(truth)),
    ),
    BaselineEntry(
        "rollout",
        "three steps rolled out under EI",
        lambda truth: Rollout(paper_or_true_belief(truth)),
    ),
    BaselineEntry(
        "misled",
        "default with every opinion by names reversed",
        lambda _: _misled(registry.learned("misled")),
    ),
    BaselineEntry(
        "best-played",
        "default, asha or sh, whichever ends best when all are played on",
        lambda _: _best_played(registry.learned("best-played")),
    ),
)
_BY_NAME = {entry.name: entry for entry in BASELINES}
_TOLD: dict[str, Callable[[Truth], Policy]] = {
    "bhpt": lambda truth: Bhpt(true_belief(truth)),
    "bhpt-eps": lambda truth: Bhpt(true_belief(truth), epsilon=0.5),
    "next-unit": lambda truth: NextUnit(true_belief(truth)),
    "plans": lambda truth: Plans(true_belief(truth)),
}


def _misled(learned: Learned) -> Policy:
    return MisledPolicy(registry.default_with(learned), learned.weights)


def _best_played(learned: Learned) -> Policy:
    default = registry.default_with(learned)
    rules = (registry.make_policy("asha"), registry.make_policy("sh"))
    return BestPlayed((default, *rules), default.predictor)


_TRAINED: dict[str, Callable[[Learned], Policy]] = {
    "misled": _misled,
    "best-played": _best_played,
}
TRAINED = registry.TRAINED | frozenset(_TRAINED)
"""Names of policies and baselines that decide with trained networks."""


def networks(name: str) -> Mapping[str, str]:
    """Digests of the trained networks that a policy or baseline decides with, by network."""
    plain, _, folder = name.partition(":")
    if plain in _TRAINED:
        name = f"default:{folder}" if folder else "default"
    return registry.networks(name)


def names() -> list[str]:
    """The policies that people tune with, then the baselines."""
    return [*registry.names(), *_BY_NAME]


def make_rule(name: str, truth: Truth | None = None) -> Policy:
    """A fresh rule or baseline by its name, without the guard unless that is a part of it.

    Args:
        name: Which; `default:FOLDER` and the like as in `bhpt.policies.registry`, `misled:FOLDER`
            and `best-played:FOLDER` likewise.
        truth: The model that the task was drawn from, if it was.

    Raises:
        Misuse: Nothing has this name.
    """
    if name in _BY_NAME:
        return _BY_NAME[name].make(truth)
    plain, _, folder = name.partition(":")
    if folder and plain in _TRAINED:
        return _TRAINED[plain](registry.learned(name))
    if truth is not None and name in _TOLD:
        return _TOLD[name](truth)
    return registry.make_rule(name)
