"""The protocol of policies, and the values that they return."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from bhpt.beliefs.experts import Advice
from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import FloatArray, Misuse, View


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why this arm: the numbers behind a decision, in the scale of the losses.

    Attributes:
        why: The reason in a few words, without predictions: views add those.
        end: Predicted best loss of each arm within its horizon, [K]; NaN where not predicted.
        spread: One standard deviation of it, [K]; NaN where not predicted.
        value: What the policy minimises, [K]; infinite where an arm cannot be chosen, NaN
            where the policy does not price arms.
    """

    why: str
    end: FloatArray
    spread: FloatArray
    value: FloatArray

    @classmethod
    def in_words(cls, why: str, arms: int) -> "Explanation":
        """An explanation by a rule that predicts nothing."""
        unknown = np.full(arms, np.nan)
        return cls(why, unknown, unknown, unknown)

    @staticmethod
    def of_ends(ends: Callable[[], Ends], value: FloatArray, why: str) -> "EndsExplanation":
        """An explanation by a policy with a predictor.

        Args:
            ends: Returns the prediction of the study's predictor; called at most once.
            value: What the policy minimises, [K].
            why: Why, in a few words; the study adds the numbers of the chosen arm, in the
                direction of its metric.
        """
        return EndsExplanation(ends, value, why)

    @staticmethod
    def of_unpriced(predictor: Predictor, view: View, why: str) -> "EndsExplanation":
        """An explanation by a policy that prices no arm, with what a predictor says of all."""
        return EndsExplanation(lambda: predictor.predict(view), np.full(view.arms, np.nan), why)


class EndsExplanation(Explanation):
    """An explanation whose predictions are computed when they are read.

    Args:
        ends: Returns the prediction of the study's predictor.
        value: What the policy minimises, [K].
        why: Why, in a few words.
    """

    def __init__(self, ends: Callable[[], Ends], value: FloatArray, why: str) -> None:
        self.__dict__.update(why=why, value=value, _predict=ends)

    @cached_property
    def _ends(self) -> Ends:
        predict: Callable[[], Ends] = self.__dict__["_predict"]
        return predict()

    @cached_property
    def end(self) -> FloatArray:
        """Predicted best loss of each arm within its horizon, [K]."""
        return self._ends.mean()

    @cached_property
    def spread(self) -> FloatArray:
        """One standard deviation of it, [K]."""
        return self._ends.deviation()


@dataclass(frozen=True, eq=False)
class Decision:
    """Run one unit of `arm`.

    Attributes:
        arm: The configuration to train.
        reason: Why, or a function that returns it: explaining may take longer than deciding, and
            benchmarks do not need it.
    """

    arm: int
    reason: Explanation | Callable[[], Explanation]

    @cached_property
    def explanation(self) -> Explanation:
        """Why this arm."""
        return self.reason if isinstance(self.reason, Explanation) else self.reason()


class Policy(Protocol):
    """Chooses the next unit. Deciding never changes what later decisions will be."""

    def decide(self, view: View) -> Decision | None:
        """The next unit to run; None if none can, or if one in flight must be reported first."""
        ...


class PredictingPolicy(ABC):
    """Base of policies that name the predictor of their study.

    A study whose policy is not derived from this uses the learned predictor.
    """

    @property
    @abstractmethod
    def predictor(self) -> Predictor:
        """Predicts, for the policy and for everything that a person is shown of the study."""

    @abstractmethod
    def decide(self, view: View) -> Decision | None:
        """The next unit to run, or None when no unit can be run any more."""


@runtime_checkable
class AdvisedPolicy(Protocol):
    """A policy that uses experts: predictions of ranks that need no training."""

    def advice(self, view: View, arm: int) -> Advice | None:
        """What each expert predicts for an arm and others, with its weight; None if none does."""
        ...


def advice_of(policy: Policy, view: View, arm: int) -> Advice | None:
    """What the experts of a policy predict for an arm and others; None if it uses none."""
    return policy.advice(view, arm) if isinstance(policy, AdvisedPolicy) else None


class SequentialPolicy(ABC):
    """Base of policies that must see the result of each unit before they decide the next."""

    @abstractmethod
    def decide(self, view: View) -> Decision | None:
        """The next unit to run, or None when no unit can be run any more."""


def refuse_side_by_side(policy: Policy, workers: int) -> None:
    """Refuse several workers for a policy that must see each unit before it decides the next.

    Raises:
        Misuse: It is sequential, and there are several workers or a unit is in flight.
    """
    if workers > 1 and isinstance(policy, SequentialPolicy):
        raise Misuse("this policy decides one unit at a time: use one worker, or `default`")
