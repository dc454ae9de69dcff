"""What earlier studies showed, as expected ranks of new configurations.

Arms of earlier studies are points: their configurations, as far as the new space has hyper-
parameters of the same names, and how they ranked in their own study. A Gaussian process through
these points expects a rank of every new configuration, zero where nothing was near, and nothing at
all where the spaces share no name. Ranks need no common loss: the studies may have trained other
models on other data, and whether what they say holds here is for the new study to show (`experts`).

Notation:
    K  new configurations, P  points, D  columns
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bhpt.beliefs.triangular import cholesky, solve_lower, solve_lower_transposed
from bhpt.domain import Curves, FloatArray, Misuse
from bhpt.spaces.columns import CATEGORY
from bhpt.spaces.ranges import NumberRange, Range, is_number
from bhpt.spaces.spelling import spelled

MOST_ARMS = 200  # of one study
MOST_STUDIES = 8
_MOST_POINTS = 600  # of all studies: later ones are thinned alike
_WIDTH = 0.3  # of the range, over which a hyper-parameter alone matters
_TOGETHER = 0.5  # the same for all of them together, times the root of how many there are
_HEIGHT = 0.289**2  # variance of ranks
_NOISE = 0.5  # of a rank in its own study, as part of it
_UNSHARED = 1.0  # more noise where all hyper-parameters that mattered are unknown here


@dataclass(frozen=True, slots=True)
class EarlierStudy:
    """What is kept of an earlier study.

    Attributes:
        configs: Configurations of arms that were trained.
        ranks: How each ranked among them, from -1/2, the worst, to 1/2, the best.
    """

    configs: tuple[dict[str, Any], ...]
    ranks: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        if len(self.configs) != len(self.ranks):
            raise Misuse("an earlier study needs one rank for each configuration")


def summarise(curves: Curves, configs: Sequence[Mapping[str, Any]]) -> EarlierStudy:
    """What is kept of a study: the ranks of its arms; of very many those trained longest.

    Arms trained differently long are compared in pairs, each pair by its best losses within as
    many epochs as both have had. The rank of an arm is the part of the others that it beats.

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
    best = np.minimum.accumulate(np.where(seen, losses, np.inf), axis=1)
    common = np.minimum(counts[:, None], counts[None, :]) - 1
    mine = best[np.arange(len(rows))[:, None], common]  # [P, P], of the first of each pair
    beaten = 1.0 * (mine < mine.T) + 0.5 * (mine == mine.T)
    ranks = (beaten.sum(axis=1) - 0.5) / (len(rows) - 1) - 0.5
    chosen = curves.visited[rows]
    return EarlierStudy(
        tuple(dict(configs[int(arm)]) for arm in chosen), tuple(float(rank) for rank in ranks)
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

    def ranks(self, configs: Sequence[Mapping[str, object]]) -> FloatArray:
        """The rank that is expected of each new configuration, 0 where nothing is known, [K]."""
        if not self._names or not len(self._points):
            return np.zeros(len(configs))
        cross = _covariance(self._encode(configs), self._points)
        # a sum rather than a product: a row must not depend on how many there are
        return np.asarray((cross * self._solved).sum(axis=1))

    @cached_property
    def _shared(self) -> list[tuple[EarlierStudy, dict[str, str]]]:
        """The studies that share names with the space, each with what it calls them."""
        known = {spelled(name): name for name in self.ranges}
        found = []
        for study in self.studies:
            theirs = {name for config in study.configs for name in config}
            calls = {known[spelled(n)]: n for n in sorted(theirs) if spelled(n) in known}
            if calls:
                found.append((study, calls))
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
    def _points(self) -> FloatArray:
        """All kept arms of earlier studies, in the columns of the new space, [P, D]."""
        blocks = [
            self._encode(
                [{mine: c[theirs] for mine, theirs in calls.items() if theirs in c} for c in kept]
            )
            for study, calls, some in self._thinned
            if (kept := study.configs[some])
        ]
        return np.vstack(blocks) if blocks else np.zeros((0, 1))

    @cached_property
    def _solved(self) -> FloatArray:
        """(covariance of the points with noise)⁻¹ ranks, [P]."""
        ranks = np.concatenate([study.ranks[some] for study, _, some in self._thinned])
        part = len(self._names) / max(len(self.ranges), 1)
        noise = _HEIGHT * (_NOISE + _UNSHARED * (1.0 - part))
        covariance = _covariance(self._points, self._points)
        covariance[np.diag_indices(len(ranks))] += noise
        lower = cholesky(covariance)
        return solve_lower_transposed(lower, solve_lower(lower, ranks))

    def _encode(self, configs: Sequence[Mapping[str, object]]) -> FloatArray:
        """Columns of the shared hyper-parameters; what is missing is in the middle, [K, D]."""
        columns = []
        for name in self._names:
            span = self.ranges[name]
            values = [config.get(name) for config in configs]
            if isinstance(span, NumberRange):
                columns.append(_numbers(values, span))
            else:
                columns += [
                    np.array([CATEGORY * (str(value) == word) for value in values])
                    for word in self._words[name]
                ]
        return np.column_stack(columns) if columns else np.zeros((len(configs), 1))

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        """Values of each shared hyper-parameter that is no number, as earlier studies had them."""
        found: dict[str, set[str]] = {name: set() for name in self._names}
        for study, calls in self._shared:
            for mine, theirs in calls.items():
                found[mine] |= {str(c[theirs]) for c in study.configs if theirs in c}
        return {name: sorted(words) for name, words in found.items()}


def _numbers(values: Sequence[object], span: NumberRange) -> FloatArray:
    """Positions within a range, up to half of it beyond its ends; the middle for what is none."""
    numbers = np.array([float(v) if is_number(v) else np.nan for v in values])  # type: ignore[arg-type]
    at = np.clip(span.position(np.where(np.isfinite(numbers), numbers, span.low)), -0.5, 1.5)
    return np.where(np.isfinite(numbers), at, 0.5)


def _covariance(left: FloatArray, right: FloatArray) -> FloatArray:
    """Of expected ranks: half by each column alone, half by all together, [K, P]."""
    alone = np.zeros((len(left), len(right)))
    squared = np.zeros_like(alone)
    for column in range(left.shape[1]):
        apart = (left[:, None, column] - right[None, :, column]) ** 2
        alone += np.exp(-0.5 * apart / _WIDTH**2)
        squared += apart
    together = np.exp(-0.5 * squared / (left.shape[1] * _TOGETHER**2))
    return np.asarray(_HEIGHT * (0.5 * alone / left.shape[1] + 0.5 * together))
