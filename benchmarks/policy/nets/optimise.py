"""Six optimisers and five schedules of the learning rate in one formula, for one arm."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .arms import OFF, OPTIMIZERS, Arm

Array = Any
Weights = dict[str, Any]


class Progress(NamedTuple):
    """An arm on its way.

    Attributes:
        weights: The network.
        gathered: Sum of the gradients since the last update.
        first: Running mean of gradients, or momentum.
        second: Running mean, or sum, of squared gradients.
        updates: Updates made.
    """

    weights: Weights
    gathered: Weights
    first: Weights
    second: Weights
    updates: Array


def begin(weights: Weights, arms: int) -> Progress:
    """Before the first step, for all arms."""
    gathered, first, second = (jax.tree.map(jnp.zeros_like, weights) for _ in range(3))
    start = jax.tree.map(jnp.asarray, weights)
    return Progress(start, gathered, first, second, jnp.zeros(arms))


def rate(arm: Arm, unit: Array, units: Array) -> Array:
    """Learning rate after so many units (a fraction) of all units."""
    whole = jnp.floor(unit)
    factors = [
        jnp.ones(()),
        arm.gamma**whole,
        arm.gamma ** jnp.floor(unit / arm.period),
        0.5 * (1 + jnp.cos(jnp.pi * unit / units)),
        1 / (1 + (1 - arm.gamma) * whole),
    ]
    factor = factors[0]
    for index in range(1, len(factors)):
        factor = jnp.where(arm.schedule == index, factors[index], factor)
    rising = jnp.minimum(1.0, (unit + 0.05) / jnp.maximum(arm.warmup, 0.05))
    return arm.lr * factor * rising


def advance(progress: Progress, arm: Arm, gradients: Weights, step: Array, size: Array) -> Progress:
    """Adds gradients; every `arm.accum` steps moves the weights with their mean.

    Args:
        progress: The arm so far.
        arm: Its hyper-parameters.
        gradients: Of this step.
        step: Number of the step, from 0.
        size: Learning rate now.
    """
    gathered = jax.tree.map(jnp.add, progress.gathered, gradients)
    due = (step + 1) % arm.accum == 0
    mean = jax.tree.map(lambda g: g / arm.accum, gathered)
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(mean)))
    shrink = jnp.where(arm.clip < OFF, jnp.minimum(1.0, arm.clip / (norm + 1e-12)), 1.0)
    count = progress.updates + 1

    is_adam = (arm.optimizer == OPTIMIZERS.index("adam")) | (
        arm.optimizer == OPTIMIZERS.index("adamw")
    )
    sums = arm.optimizer == OPTIMIZERS.index("adagrad")
    nesterov = arm.optimizer == OPTIMIZERS.index("nesterov")
    adaptive = arm.optimizer >= OPTIMIZERS.index("adam")
    memory = jnp.where(is_adam, arm.beta1, jnp.where(adaptive, 0.0, arm.momentum))
    entering = jnp.where(is_adam, 1 - arm.beta1, 1.0)
    keep = jnp.where(sums, 1.0, arm.beta2)
    add = jnp.where(sums, 1.0, 1 - arm.beta2)
    mend1 = jnp.where(is_adam, 1 / (1 - arm.beta1**count), 1.0)
    mend2 = jnp.where(is_adam, 1 / (1 - arm.beta2**count), 1.0)

    def move(w: Array, g: Array, m: Array, v: Array, old: Array) -> tuple[Array, ...]:
        g = g * shrink + arm.l2 * w + arm.l1 * jnp.sign(w)
        m_new = memory * m + entering * g
        v_new = keep * v + add * g * g
        ahead = jnp.where(nesterov, g + memory * m_new, m_new * mend1)
        spread = jnp.where(adaptive, jnp.sqrt(v_new * mend2) + arm.eps, 1.0)
        w_new = w - size * (ahead / spread + arm.weight_decay * w)
        pairs = ((w_new, w), (m_new, m), (v_new, v), (jnp.zeros_like(old), old))
        return tuple(jnp.where(due, new, before) for new, before in pairs)

    names = list(progress.weights)
    moved = {
        n: move(progress.weights[n], mean[n], progress.first[n], progress.second[n], gathered[n])
        for n in names
    }
    weights, first, second, rest = ({n: moved[n][at] for n in names} for at in range(4))
    return Progress(weights, rest, first, second, progress.updates + due)
