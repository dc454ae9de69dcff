"""Adam, the optimiser of both networks."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.network import Weights

_FIRST, _SECOND, _FLOOR = 0.9, 0.99, 1e-6


class Moments(NamedTuple):
    """What Adam remembers: steps made, and running means of gradients and of their squares."""

    count: Array
    first: Any  # as the weights are
    second: Any


def still(weights: Weights) -> Moments:
    """Before the first step."""
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return Moments(jnp.zeros(()), zeros, zeros)


def adam(
    weights: Weights, moments: Moments, gradients: Weights, rate: Array
) -> tuple[Weights, Moments]:
    """One step down the gradients."""
    count = moments.count + 1
    first = jax.tree.map(lambda m, g: _FIRST * m + (1 - _FIRST) * g, moments.first, gradients)
    second = jax.tree.map(
        lambda v, g: _SECOND * v + (1 - _SECOND) * g * g, moments.second, gradients
    )

    def step(w: Array, m: Array, v: Array) -> Array:
        spread = jnp.sqrt(v / (1 - _SECOND**count)) + _FLOOR
        return w - rate * (m / (1 - _FIRST**count)) / spread

    return jax.tree.map(step, weights, first, second), Moments(count, first, second)
