"""What earlier studies showed, as expected ranks of new configurations.

Arms of earlier studies are points: their configurations, as far as the new space has the same
hyper-parameters, and how they ranked in their own study. A Gaussian process through these points
(`rank_regression`) expects a rank of every new configuration, zero where nothing was near, and
nothing at all where the spaces share no hyper-parameter. It finds out which of them matter, and
ranks of arms that were trained longer count more. Ranks need no common loss: the studies may
have trained other models on other data, and whether what they say holds here is for the new study
to show (`experts`).

Notation:
    K  new configurations, D  columns
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bhpt.beliefs.rank_regression import RankRegression
from bhpt.domain import Curves, FloatArray, Misuse
from bhpt.spaces.columns import CATEGORY
from bhpt.spaces.ranges import NumberRange, Range, is_number
from bhpt.spaces.spelling import spelled

MOST_ARMS = 200  # of one study
MOST_STUDIES = 8
_MOST_POINTS = 600  # of all studies: later ones are thinned alike
_NOISE = 0.5  # of a rank in its own study, as part of the variance of ranks
_OVERLAP = 0.1  # of the smaller range, that two hyper-parameters of one name share
_SAME_SPACE = 0.5  # of the names that are shared, hyper-parameters that must be
_UNSHARED = 1.0  # more noise where all hyper-parameters that mattered are unknown here


@dataclass(frozen=True, slots=True)
class EarlierStudy:
    """What is kept of an earlier study.

    Attributes:
        configs: Configurations of arms that were trained.
        ranks: How each ranked among them, from -1/2, the worst, to 1/2, the best.
        counts: How much each rank counts, 1 on average: an arm that was trained longer shows more
            of its end. Empty where all count alike, as in studies of earlier versions.
    """

    configs: tuple[dict[str, Any], ...]
    ranks: tuple[float, ...]
    counts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        if len(self.configs) != len(self.ranks):
            raise Misuse("an earlier study needs one rank for each configuration")
        if self.counts and len(self.counts) != len(self.ranks):
            raise Misuse("an earlier study needs how much each of its ranks counts, or of none")


def summarise(curves: Curves, configs: Sequence[Mapping[str, Any]]) -> EarlierStudy:
    """What is kept of a study: the ranks of its arms; of very many those trained longest.

    Arms rank by the best loss that each has reached, however long it was trained: one that was
    given up early was given up because others promised more. The rank of an arm is the part of
    the others that it beats. It counts as the root of how long the arm was trained.

    Args:
        curves: What the study has seen.
        configs: The configuration of every arm.
    """
    rows = np.argsort(-curves.counts, kind="stable")[:MOST_ARMS]
    rows = rows[curves.counts[rows] > 0]
    if len(rows) < 2:
        return EarlierStudy((), ())
    counts = curves.counts[rows]
    losses = curves.losses[rows, : int(counts.max())]
    seen = np.isfinite(losses) & (np.arange(losses.shape[1]) < counts[:, None])
    best = np.where(seen, losses, np.inf).min(axis=1)
    beaten = 1.0 * (best[:, None] < best) + 0.5 * (best[:, None] == best)  # [P, P]
    ranks = (beaten.sum(axis=1) - 0.5) / (len(rows) - 1) - 0.5
    chosen = curves.visited[rows]
    longer = np.sqrt(counts / counts.mean())
    return EarlierStudy(
        tuple(dict(configs[int(arm)]) for arm in chosen),
        tuple(ranks.tolist()),
        tuple(longer.tolist()),
    )


@dataclass(frozen=True, eq=False)
class EarlierExpert:
    """Expects ranks in a space by what earlier studies showed.

    Attributes:
        studies: The earlier studies.
        ranges: The range of each hyper-parameter of the new space.
    """

    studies: tuple[EarlierStudy, ...]
    ranges: Mapping[str, Range]

    @property
    def knows_the_space(self) -> bool:
        """Whether some earlier study shares a hyper-parameter with the space."""
        return self._regression is not None

    def ranks(self, configs: Sequence[Mapping[str, object]]) -> FloatArray:
        """The rank that is expected of each new configuration, 0 where nothing is known, [K]."""
        if self._regression is None:
            return np.zeros(len(configs))
        return self._regression.expect(self._encode(configs))

    @cached_property
    def _shared(self) -> list[tuple[EarlierStudy, dict[str, str]]]:
        """The studies that share hyper-parameters with the space, each with what it calls them.

        They have the same name, up to its spelling, and ranges that overlap. Where most of those
        of the same name do not, the study is of another space, and nothing of it counts.
        """
        known = {spelled(name): name for name in self.ranges}
        found = []
        for study in self.studies:
            theirs = {name for config in study.configs for name in config}
            calls = {known[spelled(n)]: n for n in sorted(theirs) if spelled(n) in known}
            same = {m: n for m, n in calls.items() if _overlaps(study, n, self.ranges[m])}
            if same and len(same) >= _SAME_SPACE * len(calls):
                found.append((study, same))
        return found

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Hyper-parameters of the space that some earlier study had."""
        every = {name for _, calls in self._shared for name in calls}
        return tuple(name for name in self.ranges if name in every)

    @cached_property
    def _thinned(self) -> list[tuple[EarlierStudy, dict[str, str], slice]]:
        total = sum(len(study.configs) for study, _ in self._shared)
        step = -(-total // _MOST_POINTS) if total else 1
        return [(study, calls, slice(0, None, step)) for study, calls in self._shared]

    @cached_property
    def _regression(self) -> RankRegression | None:
        """Through all kept arms of earlier studies, in the columns of the new space."""
        kept = [
            {mine: config[theirs] for mine, theirs in calls.items() if theirs in config}
            for study, calls, some in self._thinned
            for config in study.configs[some]
        ]
        if not self._names or not kept:
            return None
        ranks = np.concatenate([study.ranks[some] for study, _, some in self._thinned])
        counts = np.concatenate(
            [(study.counts or (1.0,) * len(study.ranks))[some] for study, _, some in self._thinned]
        )
        part = len(self._names) / len(self.ranges)
        return RankRegression(self._encode(kept), ranks, counts, _NOISE + _UNSHARED * (1.0 - part))

    def _encode(self, configs: Sequence[Mapping[str, object]]) -> list[FloatArray]:
        """Columns of each shared hyper-parameter; what is missing is in the middle, [K, D] each."""
        blocks = []
        for name in self._names:
            span = self.ranges[name]
            values = [config.get(name) for config in configs]
            if isinstance(span, NumberRange):
                blocks.append(_numbers(values, span)[:, None])
            else:
                words = np.array([str(value) for value in values], object)
                blocks.append(CATEGORY * (words[:, None] == np.array(self._words[name], object)))
        return blocks

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        """Values of each shared hyper-parameter that is no number, as earlier studies had them."""
        found: dict[str, set[str]] = {name: set() for name in self._names}
        for study, calls in self._shared:
            for mine, theirs in calls.items():
                found[mine] |= {str(c[theirs]) for c in study.configs if theirs in c}
        return {name: sorted(words) for name, words in found.items()}


def _overlaps(study: EarlierStudy, name: str, span: Range) -> bool:
    """Whether the values that a study had overlap with a range, by a part of the smaller of both.

    Values that do not are those of another hyper-parameter of the same name.
    """
    values = [config[name] for config in study.configs if name in config]
    if not isinstance(span, NumberRange):
        words = {str(value) for value in values}
        return bool(words & {str(value) for value in span.values})
    numbers = np.array([float(value) for value in values if is_number(value)])
    if not len(numbers):
        return False
    at = span.position(numbers)
    common = min(float(at.max()), 1.0) - max(float(at.min()), 0.0)
    return common >= _OVERLAP * min(float(at.max() - at.min()), 1.0)


def _numbers(values: Sequence[object], span: NumberRange) -> FloatArray:
    """Positions within a range, up to half of it beyond its ends; the middle for what is none."""
    numbers = np.array([float(v) if is_number(v) else np.nan for v in values])  # type: ignore[arg-type]
    at = np.clip(span.position(np.where(np.isfinite(numbers), numbers, span.low)), -0.5, 1.5)
    return np.where(np.isfinite(numbers), at, 0.5)
