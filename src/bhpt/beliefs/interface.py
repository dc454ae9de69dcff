"""What a Gaussian belief is to the policies that use more of it than its predicted ends.

`Predictor` is the seam that everything else uses. BHPT's rule needs Gaussians of the ends, for
every setting of the hyper-parameters; the value of the next unit and plans need also how a unit
would move them.

Notation:
    K  arms, A and B  some of them, S  settings of the hyper-parameters
    ν_k  value of arm k at the epoch of its lowest mean within its horizon, in the belief's units
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.freeze_thaw.posterior import GaussianEnds, Moves
from bhpt.beliefs.predictor import Predictor
from bhpt.beliefs.scale import Scaled
from bhpt.domain import FloatArray, IntArray, View


class GaussianPosterior(Protocol):
    """The ends as Gaussians, for one setting of the hyper-parameters."""

    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν for a horizon in epochs."""
        ...

    def mean_at_most(self, horizon: IntArray, most: FloatArray) -> FloatArray:
        """E min{ν_k, most_k} for a horizon in epochs, [K]; infinite stands for "not there"."""
        ...


class GaussianMixture(Protocol):
    """Gaussian posteriors for several settings of the hyper-parameters."""

    @property
    def scaled(self) -> Scaled:
        """The curves in the belief's units, and the way back to losses."""
        ...

    @property
    def shared(self) -> float:
        """Probability that all arms of the study share one decay."""
        ...

    def average(self, found: Callable[[GaussianPosterior], FloatArray]) -> FloatArray:
        """A number that every setting gives for every arm, averaged over the settings, [K]."""
        ...

    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν of the mixture for a horizon in epochs: the variance between settings included."""
        ...


class GaussianBelief(Predictor, Protocol):
    """A predictor whose ends are mixtures of Gaussians: what BHPT's rule needs."""

    def condition(self, view: View) -> GaussianMixture:
        """The posterior given everything that the view shows, units in flight included."""
        ...


class MovingPosterior(GaussianPosterior, Protocol):
    """A posterior that also says how further units would move it."""

    @property
    def correlated(self) -> bool:
        """Whether a unit of one arm moves the ends of others."""
        ...

    @property
    def shared_deviation(self) -> FloatArray:
        """Standard deviation of what an arm's asymptote can share with others', [K]."""
        ...

    def covariance(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Covariance of the asymptotes of some arms, [A, B]."""
        ...

    def moves(self, ends: GaussianEnds, epochs: int) -> Moves:
        """How the next `epochs` epochs of an arm will move its own end and the others'."""
        ...

    def common_moves(self, ends: GaussianEnds, epochs: int, arms: IntArray) -> FloatArray:
        """Correlation of the moves of these arms' ends if each runs `epochs` epochs, [A, A]."""
        ...

    def exposure(self, ends: GaussianEnds) -> FloatArray:
        """How far E ν_k moves with its asymptote, [K]."""
        ...


class MovingMixture(GaussianMixture, Protocol):
    """Such posteriors for several settings of the hyper-parameters."""

    @property
    def components(self) -> Sequence[MovingPosterior]:
        """One posterior a setting, [S]."""
        ...

    def average(self, found: Callable[[MovingPosterior], FloatArray]) -> FloatArray:
        """A number that every setting gives for every arm, averaged over the settings, [K]."""
        ...

    def lowest(self, horizon: IntArray) -> FloatArray:
        """E ν averaged over the settings, each at its own epoch, [K]."""
        ...

    def moved(self, horizon: IntArray, epochs: int) -> tuple[FloatArray, FloatArray]:
        """E ν and how far `epochs` epochs of an arm move it, over the settings, [K] and [K]."""
        ...


class MovingBelief(Predictor, Protocol):
    """A Gaussian belief that prices further units: what `next-unit` and `plans` need."""

    def condition(self, view: View) -> MovingMixture:
        """The posterior given everything that the view shows, units in flight included."""
        ...


class Belief(Predictor, Protocol):
    """The belief of Freeze-Thaw itself, for policies that work on its grid and its asymptotes."""

    def condition(self, view: View) -> Mixture:
        """The posterior given everything that the view shows, units in flight included."""
        ...
