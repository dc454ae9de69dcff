"""Beliefs with the model that a synthetic task was drawn from."""

from dataclasses import dataclass

from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.hypers import LINEAR_PRIORS, Hypers, Sampling, Structure, Unknown
from bhpt.beliefs.scale import Scale
from bhpt.policies.registry import our_belief, paper_belief


@dataclass(frozen=True)
class Truth:
    """The model that a synthetic task was drawn from."""

    structure: Structure
    hypers: Hypers


def true_belief(truth: Truth) -> FreezeThaw:
    """The model that the curves were drawn from, hyper-parameters included."""
    return FreezeThaw(truth.structure, Scale("identity", running=False), truth.hypers)


def paper_or_true_belief(truth: Truth | None) -> FreezeThaw:
    """The paper's belief; the truth where the task has one, as in the paper."""
    return paper_belief() if truth is None else true_belief(truth)


def freeze_thaw_belief(truth: Truth | None) -> FreezeThaw:
    """As Freeze-Thaw's authors have it, correlated by configuration; the truth if there is one."""
    if truth is not None:
        return true_belief(truth)
    return FreezeThaw(
        Structure("matern52", anchored=False),
        Scale("linear", running=False),
        Unknown(LINEAR_PRIORS, Sampling()),
    )


def sampled_belief(truth: Truth | None) -> FreezeThaw:
    """The structure of the truth with its numbers to be inferred; `our_belief` without truth."""
    if truth is None:
        return our_belief()
    scale = Scale("linear", running=False)
    return FreezeThaw(truth.structure, scale, Unknown(LINEAR_PRIORS, Sampling()))
