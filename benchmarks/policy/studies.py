"""Thousands of studies at once, on an accelerator: what a policy is trained and tried on.

Notation:
    N  studies, K  arms (padded), T  units of a full training, B  budget, L  steps played.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.pool import FEATURES, UNITS, WEIGHTS
from bhpt.beliefs.learned.features import NOISE, Array, Geometry, Moment, at, features, geometry
from bhpt.domain import Misuse

ARMS = 100


class Pool(NamedTuple):
    """The packed curves, on the device; see `pool.pack`."""

    curves: Array
    features: Array
    table: Array
    weights: Array


class Instance(NamedTuple):
    """One study before its first unit, arms padded to `ARMS`."""

    q: Array
    exists: Array
    costs: Array
    units: Array
    budget: Array
    near: Array
    prior: Array


class State(NamedTuple):
    """One study on its way."""

    n: Array
    left: Array
    last: Array
    covariance: Array


@dataclass(frozen=True)
class Mix:
    """How studies are drawn: chances of a changed unit, of a bent scale and of unequal prices."""

    stride: float = 0.2
    bend: float = 0.15
    costs: float = 0.15
    fewer: float = 0.15


def read_pool(file: str, leave_out: tuple[str, ...], only: tuple[str, ...] = ()) -> Pool:
    """The pool without the tasks that are kept for trying, or with these alone.

    Raises:
        Misuse: A task is named that the pool does not have.
    """
    with np.load(file) as arrays:
        names = [tuple(row) for row in arrays["names"]]
        if unknown := {*leave_out, *only} - {name for _, name in names}:
            raise Misuse(f"not in the pool: {', '.join(sorted(unknown))}")
        weights = np.zeros(len(names))
        for at_task, (suite, name) in enumerate(names):
            inside = (name in only) if only else (name not in leave_out)
            weights[at_task] = WEIGHTS[suite] if inside else 0.0
        for suite in WEIGHTS:
            mine = np.array([s == suite for s, _ in names]) & (weights > 0)
            weights[mine] /= max(mine.sum(), 1)
        return Pool(
            jnp.asarray(arrays["curves"]),
            jnp.asarray(arrays["features"]),
            jnp.asarray(arrays["table"], jnp.int32),
            jnp.asarray(weights / weights.sum(), jnp.float32),
        )


def draw(pool: Pool, key: Array, low: Array, high: Array, mix: Mix) -> Instance:
    """A study: a task, some of its arms, a unit, prices and a budget of low .. high units."""
    keys = jax.random.split(key, 14)
    task = jax.random.choice(keys[0], len(pool.weights), p=pool.weights)
    start, rows, units, used = pool.table[task]
    order = jax.random.uniform(keys[1], (2000,)) + 10.0 * (jnp.arange(2000) >= rows)
    chosen = jax.lax.top_k(-order, ARMS)[1]
    fewer = jax.random.uniform(keys[2]) < mix.fewer
    arms = jnp.where(fewer, jax.random.randint(keys[3], (), 20, ARMS + 1), ARMS)
    exists = 1.0 * (jnp.arange(ARMS) < jnp.minimum(arms, rows))
    raw = pool.curves[start + chosen].astype(jnp.float32) / 65535.0
    changed = jax.random.uniform(keys[4]) < mix.stride
    stride = jnp.where(changed, jax.random.choice(keys[5], jnp.array([2, 3, 5])), 1)
    stride = jnp.where(units // stride >= 6, stride, 1)
    cut = jnp.where(
        changed, jax.random.randint(keys[6], (), jnp.maximum(units // 2, 6), units + 1), units
    )
    longest = jnp.maximum(cut // stride, 1)
    q = raw[:, jnp.minimum(jnp.arange(UNITS + 1) * stride, units)] * exists[:, None]
    bent = jax.random.uniform(keys[7]) < mix.bend
    power = jnp.where(bent, jnp.exp(jax.random.uniform(keys[8], (), minval=-0.7, maxval=0.7)), 1.0)
    q = q**power
    x = pool.features[start + chosen].astype(jnp.float32)
    uneven = jax.random.uniform(keys[9]) < mix.costs
    spread = jax.random.uniform(keys[10], (), minval=0.1, maxval=0.8)
    slope = jax.random.normal(keys[11], (FEATURES,))
    lean = (x - 0.5) @ slope * 1.5 + 0.5 * jax.random.normal(keys[12], (ARMS,))
    costs = jnp.exp(jnp.where(uneven, spread, 0.0) * lean)
    costs = costs / jnp.median(jnp.where(exists > 0, costs, 1.0))
    budget = 1.0 * jax.random.randint(keys[13], (), low, high + 1)
    columns = 1.0 * (jnp.arange(FEATURES) < used)
    shape = geometry(jnp, x, exists, columns)
    return Instance(q, exists, costs, longest, budget, shape.near, shape.prior)


def begin(instance: Instance) -> State:
    """Nothing trained yet."""
    arms = len(instance.exists)
    return State(jnp.zeros(arms, jnp.int32), instance.budget, jnp.zeros(arms), instance.prior)


def look(instance: Instance, state: State) -> tuple[Array, Array, Array]:
    """Features of the arms, [K, F], of the study, [G], and which arms can run, [K]."""
    bought = jnp.floor(state.left / instance.costs + 1e-4)
    can = instance.exists * (state.n < instance.units) * (bought >= 1)
    moment = Moment(
        q=instance.q,
        n=state.n,
        r=bought,
        total=instance.units,
        exists=instance.exists,
        open=can,
        last=state.last,
        covariance=state.covariance,
    )
    arms, study = features(jnp, moment, Geometry(instance.near, instance.prior))
    return arms, study, can


def run(instance: Instance, state: State, arm: Array, valid: Array) -> State:
    """One unit more of an arm; nothing changes where `valid` is 0."""
    one = jax.nn.one_hot(arm, len(state.n))
    first = valid * (state.n[arm] == 0)
    column = state.covariance[:, arm]
    gain = first * column / (column[arm] + NOISE)
    return State(
        state.n + (valid * one).astype(jnp.int32),
        state.left - valid * instance.costs[arm],
        jnp.where(valid > 0, one, state.last),
        state.covariance - gain[:, None] * column[None, :],
    )


def regret(instance: Instance, state: State) -> Array:
    """Normalised regret of a study that has ended."""
    bought = jnp.floor(instance.budget / instance.costs + 1e-4).astype(jnp.int32)
    reach = jnp.minimum(bought, instance.units)
    best = jnp.max(at(jnp, instance.q, reach) * instance.exists)
    found = jnp.max(at(jnp, instance.q, state.n) * instance.exists)
    return (best - found) / jnp.maximum(best, 1e-6)


@partial(jax.jit, static_argnames=("count", "mix"))
def draw_many(pool: Pool, key: Array, count: int, low: Array, high: Array, mix: Mix) -> Instance:
    """Many studies."""
    keys = jax.random.split(key, count)
    return jax.vmap(lambda k: draw(pool, k, low, high, mix))(keys)
