"""Policies by name: what `--policies` accepts and `bhpt policies` lists."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bhpt.beliefs.freeze_thaw import FreezeThaw
from bhpt.beliefs.hypers import LINEAR_PRIORS, LOG_PRIORS, Hypers, Sampling, Structure, Unknown
from bhpt.beliefs.learned.ends import LearnedEnds
from bhpt.beliefs.learned.weights import read_weights, without_names
from bhpt.beliefs.scale import Scale
from bhpt.domain import Misuse
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.default import DefaultPolicy
from bhpt.policies.entropy import EntropySearch
from bhpt.policies.fabolas import Fabolas
from bhpt.policies.gp_ei import GpEi, drawn_landscape
from bhpt.policies.interface import Policy
from bhpt.policies.learned import Learned
from bhpt.policies.next_unit import NextUnit
from bhpt.policies.plans import Plans
from bhpt.policies.promising import Promising
from bhpt.policies.rollout import Rollout
from bhpt.policies.schedules import (
    Scheduled,
    asha,
    hyperband,
    i_epoch,
    random_search,
    successive_halving,
)
from bhpt.policies.smac import make_smac
from bhpt.policies.staged import StagedPolicy
from bhpt.policies.to_the_end import ToTheEnd


@dataclass(frozen=True)
class Truth:
    """The model that a synthetic task was drawn from, for policies that may know it."""

    structure: Structure
    hypers: Hypers


@dataclass(frozen=True)
class PolicyEntry:
    """A policy that can be named.

    Attributes:
        name: What a person types.
        about: One line for `bhpt policies`.
        make: From the truth, if the task has one to tell, to the policy.
    """

    name: str
    about: str
    make: Callable[[Truth | None], Policy]


PAPER_BELIEF = (Structure("none", anchored=False), Scale("linear", running=False))
FREEZE_THAW_BELIEF = (Structure("matern52", anchored=False), Scale("linear", running=False))
OUR_BELIEF = (Structure("matern52", anchored=True), Scale("log", running=True))
WARM = Sampling(warm=1, thin=1, step=1.5)  # a chain that goes on from report to report is warm


def paper_belief(truth: Truth | None) -> FreezeThaw:
    """As printed: independent arms, losses as they are, sampled; on drawn data the truth."""
    return _told(truth, PAPER_BELIEF, Unknown(LINEAR_PRIORS, Sampling()))


def freeze_thaw_belief(truth: Truth | None) -> FreezeThaw:
    """As Freeze-Thaw's authors have it: correlated by configuration; on drawn data the truth."""
    return _told(truth, FREEZE_THAW_BELIEF, Unknown(LINEAR_PRIORS, Sampling()))


def our_belief(truth: Truth | None) -> FreezeThaw:
    """Anchored, logarithmic, correlated by configuration, sampled; on drawn data the truth."""
    return _told(truth, OUR_BELIEF, Unknown(LOG_PRIORS, WARM))


def wary_belief(truth: Truth | None) -> FreezeThaw:
    """`our_belief`, but never sure that the next arm will be like those seen so far."""
    return _told(truth, OUR_BELIEF, Unknown(LOG_PRIORS, WARM, second_opinion=True))


def _told(truth: Truth | None, model: tuple[Structure, Scale], unknown: Unknown) -> FreezeThaw:
    """The truth where it is told, else the model with its numbers to be inferred."""
    return FreezeThaw(*model, unknown) if truth is None else true_belief(truth)


def true_belief(truth: Truth) -> FreezeThaw:
    """The model that the curves were drawn from, hyper-parameters included."""
    return FreezeThaw(truth.structure, Scale("identity", running=False), truth.hypers)


def sampled_belief(truth: Truth | None) -> FreezeThaw:
    """The structure of the truth with its numbers to be inferred; `our_belief` without truth."""
    if truth is None:
        return our_belief(None)
    scale = Scale("linear", running=False)
    return FreezeThaw(truth.structure, scale, Unknown(LINEAR_PRIORS, Sampling()))


def gp_ei(truth: Truth | None) -> Policy:
    """GP-EI; on drawn data it is told how final losses were drawn, as in the paper."""
    known = None if truth is None else drawn_landscape(truth.structure, truth.hypers)
    return ToTheEnd(GpEi(known))


def _nameless(learned: Learned) -> StagedPolicy:
    """What the default does where names tell nothing; it is never told the truth."""
    blind = Learned(without_names(learned.weights), learned.ends)
    return StagedPolicy(Bhpt(our_belief(None)), blind, Scheduled(successive_halving))


def _default(learned: Learned) -> DefaultPolicy:
    """What a user gets who names none."""
    return DefaultPolicy(learned, Promising(learned.ends), _nameless(learned))


ENTRIES = (
    PolicyEntry(
        "default", "learned, with a second opinion on curves", lambda _: _default(Learned())
    ),
    PolicyEntry("learned", "a network that has played many studies", lambda _: Learned()),
    PolicyEntry(
        "nameless",
        "default where no name is known: bhpt, then learned",
        lambda _: _nameless(Learned()),
    ),
    PolicyEntry("bhpt", "the paper's rule: lowest Q, then commit", lambda t: Bhpt(paper_belief(t))),
    PolicyEntry("bhpt-eps", "BHPT-ε, ε = 0.5", lambda t: Bhpt(paper_belief(t), epsilon=0.5)),
    PolicyEntry("q-alone", "BHPT without committing", lambda t: Bhpt(paper_belief(t), None, False)),
    PolicyEntry("q-eps-alone", "BHPT-ε without it", lambda t: Bhpt(paper_belief(t), 0.5, False)),
    PolicyEntry("next-unit", "the value of the next unit", lambda t: NextUnit(our_belief(t))),
    PolicyEntry("plans", "d units to each of m arms, then commit", lambda t: Plans(wary_belief(t))),
    PolicyEntry("bhpt-sampled", "bhpt, never told the truth", lambda t: Bhpt(sampled_belief(t))),
    PolicyEntry("next-unit-sampled", "next-unit, likewise", lambda t: NextUnit(sampled_belief(t))),
    PolicyEntry("random", "random arms, each to the end", lambda _: Scheduled(random_search)),
    PolicyEntry("gp-ei", "a Gaussian process on finished arms, expected improvement", gp_ei),
    PolicyEntry("smac", "the package SMAC on finished arms (extra: smac)", lambda _: make_smac()),
    PolicyEntry(
        "fabolas", "information per cost; part of the training as fidelity", lambda _: Fabolas()
    ),
    PolicyEntry(
        "freeze-thaw",
        "entropy search on asymptotes, basket of old and new arms",
        lambda t: EntropySearch(freeze_thaw_belief(t)),
    ),
    PolicyEntry("rollout", "three steps rolled out under EI", lambda t: Rollout(paper_belief(t))),
    PolicyEntry("hyperband", "η = 3, promotions resume", lambda _: Scheduled(hyperband)),
    PolicyEntry(
        "sh", "successive halving sized to the budget", lambda _: Scheduled(successive_halving)
    ),
    PolicyEntry("asha", "asynchronous successive halving", lambda _: Scheduled(asha)),
    PolicyEntry(
        "i-epoch", "1-Epoch: try, then the best to the end", lambda _: Scheduled(i_epoch(1))
    ),
    PolicyEntry("2-epoch", "the same with 2 units each", lambda _: Scheduled(i_epoch(2))),
    PolicyEntry("5-epoch", "the same with 5 units each", lambda _: Scheduled(i_epoch(5))),
)
_TRAINED: dict[str, Callable[[Learned], Policy]] = {
    "default": _default,
    "learned": lambda learned: learned,
    "nameless": _nameless,
}
_BY_NAME = {entry.name: entry for entry in ENTRIES}


def names() -> list[str]:
    """All names, in the order in which they are listed."""
    return list(_BY_NAME)


def make_policy(name: str, truth: Truth | None = None) -> Policy:
    """A fresh policy by its name.

    `default:FOLDER`, `learned:FOLDER` and `nameless:FOLDER` decide with the weights `policy.npz`
    and `ends.npz` in a folder, such as those of networks that have never seen the tasks of a
    benchmark.
    """
    plain, _, folder = name.partition(":")
    if folder and plain in _TRAINED:
        return _TRAINED[plain](_learned_in(Path(folder)))
    if name not in _BY_NAME:
        raise Misuse(
            f"unknown policy {name!r}: `bhpt policies` lists the {len(_BY_NAME)} there are"
        )
    return _BY_NAME[name].make(truth)


def _learned_in(folder: Path) -> Learned:
    """The learned policy with the weights in a folder."""
    policy = read_weights(folder / "policy.npz", "policy")
    ends = read_weights(folder / "ends.npz", "ends")
    return Learned(policy, LearnedEnds(ends))


def networks(name: str) -> dict[str, str]:
    """Digests of the weights that a named policy decides with, by network; none if it has none.

    Raises:
        Misuse: They cannot be read.
    """
    plain, _, folder = name.partition(":")
    if plain not in _TRAINED:
        return {}
    learned = _learned_in(Path(folder)) if folder else Learned()
    return {
        weights.passport.network: weights.passport.arrays
        for weights in (learned.weights, learned.ends.weights)
    }
