"""The inputs and outputs of the learned networks, by name and in order.

Trained weights fit these names and no others: a file of weights carries the schema that it was
trained for (`passport`). `features` makes the values, `network` and the training look columns up
by name.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from bhpt.spaces.tokens import TOKEN_NAMES

# Raised where a name stays and what is computed for it changes.
SCHEMA_VERSION = 1

ARM_FEATURES = (
    # where an arm stands
    "tried",
    "can_run",
    "latest",
    "is_best",
    "log_units",
    "units_share",
    "log_horizon",
    "horizon_share",
    "log_horizon_by_units",
    "log_units_bought",
    "improvement",
    "log_gap_to_best",
    "first_improvement",
    "log_gap_to_best_first",
    # how fast it improves
    "log_gain_last_unit",
    "log_gain_last_quarter",
    "log_gain_last_half",
    "extrapolated_fast",
    "extrapolated_slow",
    # beside arms that had had as much
    "share_better",
    "log_gap_to_envelope",
    "log_rivals",
    "log_rivals_beyond",
    "typical_later_gain",
    "largest_later_gain",
    "improvement_with_typical_gain",
    # beside arms with similar configurations
    "near_improvement",
    "wide_improvement",
    "near_first_improvement",
    "wide_first_improvement",
    "log_near_arms",
    "log_wide_arms",
    # what a Gaussian process over configurations expects
    "expected_first",
    "behind_best_expected_first",
    "prior_spread_left",
    "untried",
    "expected_improvement",
    "behind_best_expected_improvement",
    "expected_rank",
    "behind_best_expected_rank",
    "expected_extrapolation",
    "above_expected_improvement",
    "log_plateau",
    # what names tell
    "opinion_end",
    "opinion_top",
    "opinion_early",
    "opinion_spread",
    "opinion_standard",
    "behind_best_opinion",
    "opinion_certainty",
    "opinion_agrees_with_first",
    "opinion_agrees_with_now",
    # several workers
    "in_flight",
    "log_workers",
)
"""Features of an arm, in the order of their columns."""

STUDY_FEATURES = (
    "any_improvement",
    "log_left",
    "log_left_trainings",
    "log_spent",
    "spent_share",
    "log_tried",
    "tried_share",
    "log_untried",
    "log_left_per_untried",
    "log_full_units",
    "mean_improvement",
    "mean_first_improvement",
    "deviation_of_first_improvement",
    "log_gap_to_second",
    "share_slow_start",
    "share_fast_start",
    "longest_share",
)
"""Features of the study, in their order."""

OPINION_NAMES = ("end", "top", "early", "spread")
"""What names tell of each arm: its rank at its end, whether it is among the very best, its rank
early on, and how far the networks are apart about the first."""

BINS = 42  # of further improvement


def arm_column(name: str) -> int:
    """Where a feature of arms is, to be looked up once."""
    return ARM_FEATURES.index(name)


@dataclass(frozen=True)
class Schema:
    """Inputs and outputs that a file of weights was trained for.

    Attributes:
        version: Of what is computed for the names.
        arm_features: Features of an arm, in order.
        study_features: Features of the study, in order.
        opinions: What names tell of each arm, in order.
        tokens: What a token says of a hyper-parameter, in order; none for networks that read none.
        bins: How many bins of further improvement it predicts; 0 if it predicts none.
    """

    version: int
    arm_features: tuple[str, ...]
    study_features: tuple[str, ...]
    opinions: tuple[str, ...]
    tokens: tuple[str, ...]
    bins: int

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        return sha256(json.dumps(vars(self), sort_keys=True).encode()).hexdigest()

    def for_arrays(self, names: Collection[str]) -> "Schema":
        """The part of it that matters to a network with these arrays."""
        arms = "arm_input" in names
        return replace(
            self,
            arm_features=self.arm_features if arms else (),
            study_features=self.study_features if arms else (),
            tokens=self.tokens if {"reader_token", "finisher_token"} & {*names} else (),
            bins=self.bins if "bins" in names else 0,
        )

    def sizes(self) -> dict[str, tuple[int, int]]:
        """The size along an axis that the schema fixes: (axis, size) by array."""
        arm, study = len(self.arm_features), len(self.study_features)
        return {
            "arm_input": (0, arm),
            "shared_input": (0, study + arm),
            "reader_token": (1, len(self.tokens)),
            "finisher_token": (0, len(self.tokens)),
            "reader_output": (2, len(self.opinions) - 1),
            "bins": (1, self.bins),
        }

    def differences(self, other: "Schema") -> list[str]:
        """What this one has and another has not, and the reverse, in words."""
        found = []
        if self.version != other.version:
            found.append(f"version {self.version} instead of {other.version}")
        for title, mine, theirs in (
            ("arm features", self.arm_features, other.arm_features),
            ("study features", self.study_features, other.study_features),
            ("opinions", self.opinions, other.opinions),
            ("tokens", self.tokens, other.tokens),
        ):
            found += _differ(title, mine, theirs)
        if self.bins != other.bins:
            found.append(f"{self.bins} bins instead of {other.bins}")
        return found


def _differ(title: str, mine: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """How two lists of names differ, in words."""
    if mine == theirs:
        return []
    more, less = [n for n in mine if n not in theirs], [n for n in theirs if n not in mine]
    words = [f"more {', '.join(more)}"] * bool(more) + [f"lacks {', '.join(less)}"] * bool(less)
    return [f"{title}: {'; '.join(words) or 'another order'}"]


SCHEMA = Schema(SCHEMA_VERSION, ARM_FEATURES, STUDY_FEATURES, OPINION_NAMES, TOKEN_NAMES, BINS)
"""What this version of the package tells its networks."""
