"""The prefix structure of `freeze_thaw.grid`, for all shapes at once, and curves seen through it.

Notation:
    G  shapes, N  epochs that are kept, V  rows (arms with observations or a unit in flight)
    λ, Ω, R, P, γ  as in `freeze_thaw.grid`, for misfit and noise of size A = 1
    q  Σ W², what the observed part of a curve costs under a shape;  log|L|  of its factor
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bhpt.beliefs.freeze_thaw.grid import with_prefix_tables
from bhpt.beliefs.shapes.shapes import Shape, kept_epochs
from bhpt.domain import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ShapeGrid:
    """Factorised epochs of every shape.

    Attributes:
        epochs: The kept epochs, 1-based, ascending, [N].
        start: The scaled ℓ_0, what every curve decays from.
        learns: Which shapes are of arms that learn, [G].
        load: h, [G, N].
        factor: L, [G, N, N].
        inverse: L⁻¹, [G, N, N].
        whitened_load: u, [G, N].
        information: λ, [G, N + 1].
        log_diagonal: log|L| of the first n epochs, [G, N + 1].
        omega: Ω, [G, N + 1, N].
        residual: R, [G, N + 1, N].
    """

    epochs: IntArray
    start: float
    learns: BoolArray
    load: FloatArray
    factor: FloatArray
    inverse: FloatArray
    whitened_load: FloatArray
    information: FloatArray
    log_diagonal: FloatArray
    omega: FloatArray
    residual: FloatArray

    def kept(self, epochs: IntArray) -> IntArray:
        """How many of the kept epochs lie within the first so many epochs, of the same shape."""
        return np.searchsorted(self.epochs, epochs, side="right")


def make_shape_grid(shapes: tuple[Shape, ...], full: int, start: float) -> ShapeGrid:
    """Factorise the kept epochs of a training of `full` epochs for every shape."""
    epochs = kept_epochs(full)
    grids = [with_prefix_tables(shape.factorise(epochs, full, start)) for shape in shapes]
    factor = np.stack([grid.factor for grid in grids])
    steps = np.log(np.diagonal(factor, axis1=1, axis2=2))
    nothing = np.zeros((len(shapes), 1))
    return ShapeGrid(
        epochs=epochs,
        start=start,
        learns=np.array([shape.learns for shape in shapes]),
        load=np.stack([grid.load for grid in grids]),
        factor=factor,
        inverse=np.linalg.inv(factor).astype(np.float64),
        whitened_load=np.stack([grid.whitened_load for grid in grids]),
        information=np.stack([grid.information for grid in grids]),
        log_diagonal=np.concatenate([nothing, np.cumsum(steps, axis=1)], axis=1),
        omega=np.stack([grid.omega for grid in grids]),
        residual=np.stack([grid.residual for grid in grids]),
    )


@dataclass(frozen=True, eq=False)
class ShapeRows:
    """Curves seen through every shape, for A = 1.

    Attributes:
        values: Scaled values at the kept epochs, [V, n].
        counts: Kept epochs that were observed, [V].
        projected: P, [V, G, N].
        omega: Ω at the observed counts, [V, G, N].
        gamma: γ, [V, G].
        cost: q, [V, G].
        information: λ, [V, G].
        log_diagonal: log|L|, [V, G].
        learns: Which shapes are of arms that learn, [G].
        start: The scaled ℓ_0.
    """

    values: FloatArray
    counts: IntArray
    projected: FloatArray
    omega: FloatArray
    gamma: FloatArray
    cost: FloatArray
    information: FloatArray
    log_diagonal: FloatArray
    learns: BoolArray
    start: float
    _telling_powers: dict[float, FloatArray] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def moved(self) -> IntArray:
        """Kept epochs at which a curve is not where it started, [V]."""
        seen = np.arange(self.values.shape[1]) < self.counts[:, None]
        moved: IntArray = np.sum(seen & (self.values != self.start), axis=1, dtype=np.int64)
        return moved

    @cached_property
    def parts(self) -> FloatArray:
        """Part of the kept epochs that was observed, [V]."""
        parts: FloatArray = self.counts / self.projected.shape[2]
        return parts

    def telling_powers(self, telling: float) -> FloatArray:
        """η of `evidence` if so many epochs of a curve count for its shape, [V]."""
        if telling not in self._telling_powers:
            least = np.minimum(1.0, telling / np.maximum(self.counts, 1))
            self._telling_powers[telling] = least + (1 - least) * self.parts
        return self._telling_powers[telling]

    def first(self, rows: int) -> "ShapeRows":
        """The first so many rows."""
        return ShapeRows(
            self.values[:rows],
            self.counts[:rows],
            self.projected[:rows],
            self.omega[:rows],
            self.gamma[:rows],
            self.cost[:rows],
            self.information[:rows],
            self.log_diagonal[:rows],
            self.learns,
            self.start,
        )


def project_shapes(
    grid: ShapeGrid, values: FloatArray, counts: IntArray, known: ShapeRows | None = None
) -> ShapeRows:
    """See curves through every shape; rows unchanged since `known` are kept.

    Args:
        grid: The factorised epochs.
        values: Scaled values at the first n kept epochs, [V, n].
        counts: How many of them were observed, [V].
        known: The result for an earlier moment of the same study.
    """
    rows, (shapes, epochs) = len(counts), grid.load.shape
    projected = np.zeros((rows, shapes, epochs))
    gamma, cost = np.zeros((rows, shapes)), np.zeros((rows, shapes))
    todo = np.ones(rows, bool)
    if known is not None:
        old = min(len(known.counts), rows)
        projected[:old], gamma[:old], cost[:old] = (
            part[:old] for part in (known.projected, known.gamma, known.cost)
        )
        todo[:old] = ~_unchanged(known, values[:old], counts[:old])
    for n in np.unique(counts[todo]):
        at = np.flatnonzero(todo & (counts == n))
        centred = values[at, :n] - grid.start
        whitened = np.einsum("gij,vj->vgi", grid.inverse[:, :n, :n], centred, optimize=True)
        projected[at] = np.einsum("gtj,vgj->vgt", grid.factor[:, :, :n], whitened, optimize=True)
        gamma[at] = np.einsum("vgi,gi->vg", whitened, grid.whitened_load[:, :n])
        cost[at] = np.einsum("vgi,vgi->vg", whitened, whitened)
    return ShapeRows(
        values,
        counts,
        projected,
        np.ascontiguousarray(grid.omega[:, counts].swapaxes(0, 1)),
        gamma,
        cost,
        grid.information[:, counts].T,
        grid.log_diagonal[:, counts].T,
        grid.learns,
        grid.start,
    )


def _unchanged(known: ShapeRows, values: FloatArray, counts: IntArray) -> BoolArray:
    """Which rows have the same epochs and the same values as the known ones before them, [V]."""
    rows, shared = len(counts), min(known.values.shape[1], values.shape[1])
    alike: BoolArray = np.all(known.values[:rows, :shared] == values[:, :shared], axis=1)
    unchanged: BoolArray = alike & (known.counts[:rows] == counts)
    return unchanged
