"""Gaussian process regression of ranks, with a width for each hyper-parameter.

How far a rank carries along a hyper-parameter differs between them: some decide everything, others
hardly matter. So each has a width of its own, wide where it matters little. Widths and noise
are those of a few that make the ranks most probable (maximum a posteriori), found one after the
other. Ranks that are known less well have more noise. Ranks that follow no hyper-parameter at all
can be fitted too, by chance; so what is expected is multiplied by the probability q that they do
follow some, by the evidence for both, even before data.

    k(x, x') = H (½ mean_h exp(-½ d_h² / w_h²) + ½ exp(-½ mean_h d_h² / w_h²))
    y ~ N(0, k + diag(H ν / c))   or, with probability 1 - q,   y ~ N(0, diag(H / c))

Notation:
    K  new points, P  points, D  columns, h  hyper-parameters
    d_h  distance in the columns of a hyper-parameter, w_h  its width
    ν  noise as part of the variance H of ranks, c  how much a rank counts
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bhpt.beliefs.triangular import cholesky, solve_lower, solve_lower_transposed
from bhpt.domain import FloatArray

HEIGHT = 0.289**2
"""Variance of ranks between -1/2 and 1/2."""

_WIDTHS = (0.15, 0.3, 0.6, 1.2, 4.0)  # of the range of a hyper-parameter
_USUAL_WIDTH = 0.8
_NOISES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
_SPREAD = 1.0  # standard deviation of the logarithms of widths and noise before data
_SWEEPS = 2
_FITTED = 200  # points that widths and noise are fitted to at most


@dataclass(frozen=True)
class Smoothness:
    """How ranks vary over a space.

    Attributes:
        widths: Of each hyper-parameter.
        noise: As part of the variance of ranks.
        credence: The probability that they follow hyper-parameters at all.
    """

    widths: tuple[float, ...]
    noise: float
    credence: float


@dataclass(frozen=True, eq=False)
class RankRegression:
    """Expected ranks of new points, given those of known ones.

    Attributes:
        blocks: Columns of each hyper-parameter, [P, D] each.
        ranks: Of the points, about 0, [P].
        counts: How much each rank counts, 1 on average, [P].
        usual_noise: The noise that is likeliest before data.
    """

    blocks: Sequence[FloatArray]
    ranks: FloatArray
    counts: FloatArray
    usual_noise: float

    def expect(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """The expected rank of new points, 0 far from all known ones, [K].

        Args:
            blocks: Columns of each hyper-parameter, [K, D] each.
        """
        cross = covariance(squares(blocks, self.blocks), self.smoothness.widths)
        # a sum rather than a product: a row must not depend on how many there are
        return np.asarray(self.smoothness.credence * (cross * self._solved).sum(axis=1))

    @cached_property
    def smoothness(self) -> Smoothness:
        """The widths and the noise that fit best."""
        step = -(-len(self.ranks) // _FITTED)
        some = slice(0, None, step)
        part = [block[some] for block in self.blocks]
        return fitted(
            squares(part, part), self.ranks[some], self.counts[some], usual=self.usual_noise
        )

    @cached_property
    def _solved(self) -> FloatArray:
        """(covariance of the points with noise)⁻¹ ranks, [P]."""
        among = covariance(squares(self.blocks, self.blocks), self.smoothness.widths)
        lower = cholesky(_noisy(among, self.smoothness.noise, self.counts))
        return solve_lower_transposed(lower, solve_lower(lower, self.ranks))


def squares(left: Sequence[FloatArray], right: Sequence[FloatArray]) -> FloatArray:
    """Squared distances by hyper-parameter, [h, K, P]."""
    return np.stack(
        [
            ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
            for a, b in zip(left, right, strict=True)
        ]
    )


def covariance(apart: FloatArray, widths: Sequence[float]) -> FloatArray:
    """Of expected ranks: half by each hyper-parameter alone, half by all together, [K, P].

    Args:
        apart: Squared distances by hyper-parameter, [h, K, P].
        widths: Of each.
    """
    scaled = apart / np.square(widths)[:, None, None]
    return _height(np.exp(-0.5 * scaled).mean(axis=0), scaled.mean(axis=0))


def _height(alone: FloatArray, together: FloatArray) -> FloatArray:
    return np.asarray(HEIGHT * (0.5 * alone + 0.5 * np.exp(-0.5 * together)))


def _noisy(among: FloatArray, noise: float, counts: FloatArray) -> FloatArray:
    return among + np.diag(HEIGHT * noise / counts)


def log_evidence(among: FloatArray, noise: float, ranks: FloatArray, counts: FloatArray) -> float:
    """Logarithm of the probability of the ranks, a constant aside.

    Args:
        among: Covariance of the expected ranks, [P, P].
        noise: As part of the variance of ranks.
        ranks: About 0, [P].
        counts: How much each counts, [P].
    """
    lower = cholesky(_noisy(among, noise, counts))
    white = solve_lower(lower, ranks)
    return float(-0.5 * white @ white - np.log(np.diag(lower)).sum())


def fitted(apart: FloatArray, ranks: FloatArray, counts: FloatArray, usual: float) -> Smoothness:
    """The widths and the noise that make the ranks most probable, one after the other.

    Args:
        apart: Squared distances by hyper-parameter, [h, P, P].
        ranks: About 0, [P].
        counts: How much each counts, [P].
        usual: The noise that is likeliest before data.
    """
    search = _Search(apart, ranks, counts, usual)
    for _ in range(_SWEEPS):
        for number in range(len(apart)):
            search.choose_width(number)
        search.choose_noise()
    return Smoothness(tuple(search.widths.tolist()), search.noise, search.credence())


class _Search:
    """Widths and noise while they are improved, with the sums that they give.

    The arguments are those of `fitted`.
    """

    def __init__(
        self, apart: FloatArray, ranks: FloatArray, counts: FloatArray, usual: float
    ) -> None:
        self._apart = apart
        self._ranks, self._counts, self._usual = ranks, counts, usual
        self.widths = np.full(len(apart), _USUAL_WIDTH)
        self.noise = usual
        self._alone = np.exp(-0.5 * apart / _USUAL_WIDTH**2).sum(axis=0)
        self._together = (apart / _USUAL_WIDTH**2).sum(axis=0)

    def choose_width(self, number: int) -> None:
        """Take the best width of one hyper-parameter, all others as they are."""
        apart, before = self._apart[number], float(self.widths[number])
        alone = self._alone - np.exp(-0.5 * apart / before**2)
        together = self._together - apart / before**2
        best = (-np.inf, before, self._alone, self._together)
        for width in dict.fromkeys((before, *_WIDTHS)):
            scaled = apart / width**2
            sums = (alone + np.exp(-0.5 * scaled), np.maximum(together + scaled, 0.0))
            value = self._evidence(*sums, self.noise) + _log_prior(width, _USUAL_WIDTH)
            if value > best[0]:
                best = (value, width, *sums)
        _, self.widths[number], self._alone, self._together = best

    def choose_noise(self) -> None:
        """Take the best noise, with widths as they are."""
        choices = dict.fromkeys((self.noise, *_NOISES))
        self.noise = max(
            choices,
            key=lambda noise: (
                self._evidence(self._alone, self._together, noise) + _log_prior(noise, self._usual)
            ),
        )

    def credence(self) -> float:
        """The probability of the widths and the noise as they are, against noise alone."""
        found = self._evidence(self._alone, self._together, self.noise)
        found += _log_prior(self.noise, self._usual)
        found += sum(_log_prior(width, _USUAL_WIDTH) for width in self.widths.tolist())
        nothing = np.zeros_like(self._alone)
        chance = log_evidence(nothing, 1.0, self._ranks, self._counts)
        return float(np.exp(-np.logaddexp(0.0, chance - found)))

    def _evidence(self, alone: FloatArray, together: FloatArray, noise: float) -> float:
        count = len(self._apart)
        return log_evidence(
            _height(alone / count, together / count), noise, self._ranks, self._counts
        )


def _log_prior(value: float, usual: float) -> float:
    return float(-0.5 * (np.log(value / usual) / _SPREAD) ** 2)
