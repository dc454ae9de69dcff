"""The one predictor of a study: that of its policy, else the learned one.

Policies and networks are imported when one is asked for: reading a study needs none.
"""

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import Misuse
from bhpt.policies.interface import Policy, PredictingPolicy

_LEARNED = frozenset({"default", "learned", "nameless", "random", "asha"})


def predictor_of(policy: Policy | None) -> Predictor:
    """The predictor that a policy names; the learned one if it names none or is not known."""
    from bhpt.beliefs.learned.ends import LearnedPredictor
    from bhpt.beliefs.learned.weights import shipped

    if isinstance(policy, PredictingPolicy):
        return policy.predictor
    return LearnedPredictor(shipped("ends"))


def predictor_named(name: str) -> Predictor:
    """The predictor of the policy that a study remembers by its name.

    That of the policies that are used most is known, so that looking at their studies does not
    import all policies.
    """
    return predictor_of(None if name in _LEARNED else policy_named(name))


def policy_named(name: str) -> Policy | None:
    """The policy that a study remembers; None if it was an object that has no name here."""
    from bhpt.policies.registry import make_policy

    try:
        return make_policy(name)
    except Misuse:
        return None
