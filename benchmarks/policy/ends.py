"""Train the learned predictor: where a curve will be at its horizon, as a histogram.

Supervised: studies are stopped at a random moment, and the network is asked for the further
improvement of every arm within what is left, which the pool knows.
"""

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.adam import Moments, adam, still
from benchmarks.policy.options import parsed, parser, save
from benchmarks.policy.pool import read_labels
from benchmarks.policy.studies import (
    ARMS,
    Instance,
    Mix,
    Pool,
    State,
    begin,
    counted,
    draw_many,
    look,
    read_pool,
)
from benchmarks.policy.train import grown, start_weights
from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.features import NOISE
from bhpt.beliefs.learned.network import EDGES, Weights, histogram, outputs, trunk
from bhpt.beliefs.learned.past import at

HIDDEN = 64
STUDIES = 256


def stop(instance: Instance, key: Array) -> State:
    """A moment that a study might come to."""
    keys = jax.random.split(key, 8)
    units = 1.0 * instance.units
    tried = jax.random.uniform(keys[0], (ARMS,)) < jax.random.uniform(keys[1], minval=0.03)
    power = jax.random.uniform(keys[2], minval=1.0, maxval=6.0)
    same = units * jax.random.uniform(keys[3]) ** 2.5
    each = units * jax.random.uniform(keys[4], (ARMS,)) ** power
    rank = jnp.argsort(jnp.argsort(instance.q[:, 1])) / (1.0 * ARMS)
    chased = units * (rank**4) * jax.random.uniform(keys[5], (ARMS,))
    kind = jax.random.randint(keys[6], (), 0, 3)
    depth = jnp.stack([jnp.full(ARMS, same), each, chased])[kind]
    n = jnp.clip(jnp.floor(depth) + 1, 1, units - 1) * tried * instance.exists
    n = n.astype(jnp.int32)
    left = units * jnp.exp(jax.random.uniform(keys[7], minval=-3.0, maxval=1.0))
    left = jnp.where(kind == 0, jnp.maximum(left, units), jnp.maximum(left, 1.0))
    seen = 1.0 * (n > 0)
    inside = seen[:, None] * instance.shape["prior"] * seen[None, :] + jnp.diag(
        NOISE * seen + 1 - seen
    )
    cross = instance.shape["prior"] * seen[None, :]
    after = instance.shape["prior"] - cross @ jnp.linalg.solve(inside, cross.T)
    last = jax.nn.one_hot(jnp.argmax(n * (1 + instance.q[:, 1])), ARMS)
    left = jnp.floor(left) * jnp.median(instance.costs)
    return begin(instance)._replace(n=n, left=left, last=last, covariance=after)


def asked(weights: Weights, instance: Instance, state: State) -> tuple[Array, Array]:
    """Loss of each arm, [K], and its weight."""
    arms, study, can = look(instance, state)
    out = outputs(jnp, weights, *trunk(jnp, weights, arms, study, instance.exists))
    logs = jax.nn.log_softmax(histogram(weights, out), axis=1)
    bought = jnp.floor(state.left / instance.costs + 1e-4).astype(jnp.int32)
    end = jnp.minimum(state.n + bought, instance.units)
    q = counted(instance, state)
    now = at(jnp, q, state.n) * (state.n > 0)
    best = (now * instance.exists).max()
    more = (at(jnp, q, end) - now) / jnp.maximum(best, 1e-6)
    place = jnp.searchsorted(jnp.asarray(EDGES), more, side="left")
    weight = can * (best > 1e-6) * jnp.where(state.n > 0, 1.0, 0.3)
    return -jnp.take_along_axis(logs, place[:, None], axis=1)[:, 0], weight


@jax.jit
def improve(
    weights: Weights, moments: Moments, instances: Instance, key: Array, rate: Array
) -> tuple[Weights, Moments, Array]:
    """One step of Adam."""
    keys = jax.random.split(key, len(instances.budget))
    states = jax.vmap(stop)(instances, keys)

    def loss(weights: Weights) -> Array:
        each, weight = jax.vmap(partial(asked, weights))(instances, states)
        return (each * weight).sum() / weight.sum()

    value, grads = jax.value_and_grad(loss)(weights)
    return *adam(weights, moments, grads, rate), value


def start(pool: Pool, key: Array, mix: Mix, grown_from: str = "") -> Weights:
    """Small random weights, all bins alike; or those of a file."""
    probe = draw_many(pool, key, 2, 10, 10, mix)
    states = jax.vmap(stop)(probe, jax.random.split(key, 2))
    arms, study, _ = jax.vmap(look)(probe, states)
    weights = start_weights(key, arms.shape[2], study.shape[1], HIDDEN)
    del weights["preference"], weights["value"]
    weights["bins"] = jnp.zeros((HIDDEN, len(EDGES) + 1))
    weights["bins_bias"] = jnp.zeros(len(EDGES) + 1)
    return grown(weights, grown_from)


def train(options: argparse.Namespace) -> None:
    """The loop."""
    labels = read_labels(Path(options.pool))
    kept = labels.chosen(options.leave_out, options.leave_out_kind)
    trained_on = labels.training(kept)
    pool = read_pool(options.pool, options.knowledge, kept)
    key = jax.random.PRNGKey(1)
    mix = Mix(costs=0.0, mispriced=0.0, beside=0.0)
    weights = start(pool, key, mix, options.start)
    moments = still(weights)
    began = told = time.time()
    losses: list[Array] = []
    while (spent := (time.time() - began) / options.seconds) < 1:
        key, a, b = jax.random.split(key, 3)
        instances = draw_many(pool, a, STUDIES // options.shrink, 10, 10, mix)
        rate = options.rate * (0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * spent)))
        weights, moments, value = improve(weights, moments, instances, b, rate)
        losses.append(value)
        if time.time() - told > 20:
            told = time.time()
            recent = float(jnp.mean(jnp.stack(losses[-200:])))
            print(f"ends {told - began:4.0f}s {len(losses)} {recent:.4f}", flush=True)
            save(options, "ends", weights, trained_on)
    save(options, "ends", weights, trained_on)
    print("ends done", len(losses), float(jnp.mean(jnp.stack(losses[-200:]))), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train for a while and write the weights."""
    train(parsed(parser("ends", __doc__, 200.0, 2e-3, "1%% of it"), arguments))


if __name__ == "__main__":
    main()
