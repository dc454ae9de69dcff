"""Policies by name: what `--policy` accepts; `bhpt policies` lists them.

A name is that of a rule. A study runs a rule that has a predictor under the guard of `sensible`
(`make_policy`); the benchmark on tables, where rules are compared, runs it as printed
(`make_rule`). The guard is a part of the rule `default`, so that is the same in both.

What only the benchmark runs has a registry of its own, `bhpt.bench.baselines.registry`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.hypers import LINEAR_PRIORS, LOG_PRIORS, Sampling, Structure, Unknown
from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.weights import (
    NETWORKS,
    networks_in,
    shipped,
    with_names,
    without_names,
)
from bhpt.beliefs.scale import Scale
from bhpt.beliefs.shapes.or_one_decay import ShapesOrOneDecay
from bhpt.domain import Misuse
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.default import DefaultPolicy
from bhpt.policies.interface import Policy, PredictingPolicy
from bhpt.policies.learned import Learned
from bhpt.policies.narrowed import NarrowedPolicy
from bhpt.policies.next_unit import NextUnit
from bhpt.policies.plans import Plans
from bhpt.policies.promising import Promising
from bhpt.policies.scheduled import Scheduled
from bhpt.policies.schedules import (
    asha,
    hyperband,
    i_epoch,
    random_search,
    stopping_asha,
    successive_halving,
)
from bhpt.policies.sensible import SensiblePolicy
from bhpt.policies.staged import StagedPolicy
from bhpt.policies.whole_trainings import WholeTrainings


@dataclass(frozen=True)
class PolicyEntry:
    """A policy that can be named.

    Attributes:
        name: What a person types.
        about: One line for `bhpt policies`.
        make: Makes the rule.
    """

    name: str
    about: str
    make: Callable[[], Policy]


PAPER_BELIEF = (Structure("none", anchored=False), Scale("linear", running=False))
OUR_BELIEF = (Structure("matern52", anchored=True), Scale("log", running=True))
WARM = Sampling(warm=1, thin=1, step=1.5)  # a chain that goes on from report to report is warm


def paper_belief() -> FreezeThaw:
    """As printed: independent arms, losses as they are, hyper-parameters sampled."""
    return FreezeThaw(*PAPER_BELIEF, Unknown(LINEAR_PRIORS, Sampling()))


def our_belief() -> FreezeThaw:
    """Anchored, logarithmic, correlated by configuration, hyper-parameters sampled."""
    return FreezeThaw(*OUR_BELIEF, Unknown(LOG_PRIORS, WARM))


def wary_belief() -> FreezeThaw:
    """`our_belief`, but never sure that the next arm will be like those seen so far."""
    return FreezeThaw(*OUR_BELIEF, Unknown(LOG_PRIORS, WARM, second_opinion=True))


def shapes_belief() -> ShapesOrOneDecay:
    """A shape for each arm, or one decay for all, as what comes says."""
    return ShapesOrOneDecay()


def _nameless(learned: Learned) -> StagedPolicy:
    """The part of the default that needs no names."""
    early = NarrowedPolicy(Bhpt(our_belief(), shown=learned.predictor))
    return StagedPolicy(early, _without_names(learned), Scheduled(successive_halving))


def _without_names(learned: Learned) -> Learned:
    """The same network without the names of hyper-parameters."""
    return Learned(without_names(learned.weights), learned.ends)


def default_with(learned: Learned) -> WholeTrainings:
    """The policy of a user who names none, with the networks of a learned policy."""
    chooser = DefaultPolicy(
        named=learned,
        second=Promising(learned.predictor),
        blind=_without_names(learned),
        nameless=_nameless(learned),
        names_tell=learned.names_tell,
    )
    return WholeTrainings(SensiblePolicy(chooser, learned.predictor), learned)


ENTRIES = (
    PolicyEntry(
        "default",
        "a trained network, what names tell, a second opinion on curves",
        lambda: default_with(Learned()),
    ),
    PolicyEntry("learned", "a network trained on many studies", Learned),
    PolicyEntry(
        "nameless",
        "default where no name is known: bhpt, then learned",
        lambda: _nameless(Learned()),
    ),
    PolicyEntry(
        "bhpt",
        "the paper's rule: lowest Q, then commit",
        lambda: NarrowedPolicy(Bhpt(paper_belief())),
    ),
    PolicyEntry(
        "bhpt-eps", "BHPT-ε, ε = 0.5", lambda: NarrowedPolicy(Bhpt(paper_belief(), epsilon=0.5))
    ),
    PolicyEntry(
        "next-unit", "the value of the next unit", lambda: NarrowedPolicy(NextUnit(our_belief()))
    ),
    PolicyEntry(
        "plans",
        "plans of several units for several arms, then commit",
        lambda: NarrowedPolicy(Plans(wary_belief())),
    ),
    PolicyEntry(
        "bhpt-shapes",
        "bhpt, each arm with a shape of its own",
        lambda: NarrowedPolicy(
            Bhpt(shapes_belief(), spared=0.02, untried=0.5, priced=True, keeps=True)
        ),
    ),
    PolicyEntry(
        "bhpt-eps-shapes",
        "bhpt-eps, each arm with a shape of its own",
        lambda: NarrowedPolicy(Bhpt(shapes_belief(), epsilon=0.5, looks=0.5)),
    ),
    PolicyEntry(
        "next-unit-shapes",
        "next-unit, each arm with a shape of its own",
        lambda: NarrowedPolicy(NextUnit(shapes_belief())),
    ),
    PolicyEntry(
        "plans-shapes",
        "plans, each arm with a shape of its own",
        lambda: NarrowedPolicy(Plans(shapes_belief())),
    ),
    PolicyEntry("random", "random arms, each to the end", lambda: Scheduled(random_search)),
    PolicyEntry("hyperband", "Hyperband, η = 3; promoted arms go on", lambda: Scheduled(hyperband)),
    PolicyEntry(
        "sh", "successive halving sized to the budget", lambda: Scheduled(successive_halving)
    ),
    PolicyEntry("asha", "asynchronous successive halving", lambda: Scheduled(asha)),
    PolicyEntry(
        "asha-stop",
        "asha, stopping arms instead of promoting them",
        lambda: Scheduled(stopping_asha),
    ),
    PolicyEntry(
        "i-epoch",
        "one unit for each arm it tries, then the best to the end",
        lambda: Scheduled(i_epoch(1)),
    ),
    PolicyEntry("2-epoch", "i-epoch with two units for each", lambda: Scheduled(i_epoch(2))),
    PolicyEntry("5-epoch", "i-epoch with five units for each", lambda: Scheduled(i_epoch(5))),
)
BENCHMARK_ONLY = (
    "q-alone",
    "q-eps-alone",
    "bhpt-sampled",
    "bhpt-eps-sampled",
    "next-unit-sampled",
    "gp-ei",
    "smac",
    "fabolas",
    "freeze-thaw",
    "rollout",
    "misled",
    "best-played",
)
"""Names of the benchmark's own methods, which older versions accepted here."""

_TRAINED: dict[str, Callable[[Learned], Policy]] = {
    "default": default_with,
    "learned": lambda learned: learned,
    "nameless": _nameless,
}
TRAINED = frozenset(_TRAINED)
"""Names of the policies that decide with trained networks."""

_BY_NAME = {entry.name: entry for entry in ENTRIES}


def names() -> list[str]:
    """All names, in the order in which they are listed."""
    return list(_BY_NAME)


def make_policy(name: str) -> Policy:
    """A fresh policy by its name, as studies run it: no unit for an arm without a chance.

    See `make_rule` for names and what is raised.
    """
    rule = make_rule(name)
    if isinstance(rule, PredictingPolicy) and not isinstance(rule, WholeTrainings):
        return SensiblePolicy(rule, rule.predictor)
    return rule


def make_rule(name: str) -> Policy:
    """A fresh rule by its name, without the guard unless that is a part of it.

    `default:FOLDER`, `learned:FOLDER` and `nameless:FOLDER` decide with the weights `policy.npz`,
    `ends.npz` and `names.npz` in a folder, such as those of networks that have never seen the
    tasks of a benchmark, and with `finisher.npz` if it has one.

    Raises:
        Misuse: No policy that people tune with has this name.
    """
    plain, _, folder = name.partition(":")
    if folder and plain in _TRAINED:
        return _TRAINED[plain](learned(name))
    if name in BENCHMARK_ONLY:
        raise Misuse(
            f"policy {name!r} is a baseline of the benchmark, for `bhpt bench` only: "
            "`bhpt policies` lists what you can tune with"
        )
    if name not in _BY_NAME:
        raise Misuse(
            f"unknown policy {name!r}: `bhpt policies` lists the {len(_BY_NAME)} there are"
        )
    return _BY_NAME[name].make()


def learned(name: str) -> Learned:
    """The learned policy with the weights of `NAME:FOLDER`, or those that are shipped."""
    folder = name.partition(":")[2]
    if not folder:
        return Learned()
    policy, ends, *others = networks_in(Path(folder))
    return Learned(with_names(policy, *others), LearnedPredictor(ends))


def networks(name: str) -> dict[str, str]:
    """Digests of the weights that a named policy decides with, by network; none if it has none.

    Raises:
        Misuse: They cannot be read.
    """
    plain, _, folder = name.partition(":")
    if plain not in _TRAINED:
        return {}
    used = networks_in(Path(folder)) if folder else [shipped(network) for network in NETWORKS]
    return {weights.passport.network: weights.passport.arrays for weights in used}
