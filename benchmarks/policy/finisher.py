"""Train the network that says which tried arm to go on with, by curves and names together.

Supervised: tried arms of a task stand somewhere on their curves, and each would end somewhere if it
got all that is left, which the pool knows. The network learns to give the arm the highest score
whose end is best: what is made small is the regret of going on with an arm drawn by its scores.

As for the networks that read names, these are told in other ways (`named_tasks`), so that it does
not learn tables by heart.

Notation:
    R  tried arms (padded to `MOST`), N  hyper-parameters, H  hidden units, T  units of a training.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.adam import Moments, adam, still
from benchmarks.policy.named_tasks import (
    ROWS,
    NamedTasks,
    Tables,
    drawn_tasks,
    some_of,
    told,
    told_plainly,
    window,
)
from benchmarks.policy.options import add_leave_out, parsed, write
from benchmarks.policy.pool import OF_VALUES, UNITS
from benchmarks.policy.studies import counted_from_start, unpacked
from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.finisher import (
    FEATURES,
    LAYERS,
    MOST,
    after_reading,
    curve_features,
    scores,
)
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.past import at
from bhpt.spaces.tokens import COLUMNS

HIDDEN = 64
STUDIES = 256  # in a step
STRIDE = 50  # steps in one call
MEANINGLESS = 0.2  # chance that no name of a task means anything
BENT = 0.4  # chance of a bent scale of improvements
_NEAR = 0.05  # regrets that count as about the same
_DECAY = 1e-2
_CLIP = 1.0


class Choice(NamedTuple):
    """Tried arms, one of which is to go on.

    Attributes:
        curves: Features of the curves, [R, FEATURES].
        values: Tokens without names, [R, N, OF_VALUES].
        names: Hashes of the names, [N, NAME_HASH].
        seen: 1 for arms, 0 for padding, [R].
        regret: What going on with each arm would miss, beside the best of them, [R].
        now: Improvement of each so far, [R].
    """

    curves: Array
    values: Array
    names: Array
    seen: Array
    regret: Array
    now: Array


def draw(pool: NamedTasks, key: Array, task: Array, varied: bool) -> Choice:
    """Tried arms of a task somewhere on their curves.

    Args:
        pool: The pool.
        key: Of random numbers.
        task: Which.
        varied: Whether names, defaults and scales are told otherwise, as in training.
    """
    keys = jax.random.split(key, 6)
    total = pool.table[task, 2]
    first, count = window(pool, keys[5], task)
    rows = first + some_of(keys[0], jnp.arange(ROWS) < count, MOST)
    arms = jnp.minimum(jax.random.randint(keys[1], (), 2, MOST + 1), count)
    seen = 1.0 * (jnp.arange(MOST) < arms)
    q = counted_from_start(unpacked(pool.curves[rows]), seen > 0)
    if varied:
        q = _bent(keys[2], q)
    n, left = _moment(keys[3], q, seen, total)
    end = at(jnp, q, jnp.minimum(n + left, total))
    now = at(jnp, q, n) * seen
    reached = jnp.maximum(end, now.max())
    scale = jnp.maximum(at(jnp, q, jnp.full(MOST, jnp.minimum(total, UNITS))).max(), _NEAR)
    regret = seen * ((reached * seen).max() - reached) / scale
    values = pool.tokens[rows].astype(jnp.float32)
    if varied:
        values, names = told(pool, keys[4], task, values, MEANINGLESS)
    else:
        values, names = told_plainly(pool, task, values)
    features = curve_features(jnp, q, n, jnp.full(MOST, 1.0 * left), 1.0 * total, seen)
    return Choice(features, values, names, seen, regret, now)


def _bent(key: Array, q: Array) -> Array:
    """Improvements on another scale, at times."""
    one, two = jax.random.split(key)
    power = jnp.exp(jax.random.uniform(two, minval=-0.7, maxval=0.7))
    return jnp.where(jax.random.uniform(one) < BENT, q**power, q)


def _moment(key: Array, q: Array, seen: Array, total: Array) -> tuple[Array, Array]:
    """Units of each arm, more for those that started well, and units that are left."""
    keys = jax.random.split(key, 4)
    spread = jnp.std(q[:, 1], where=seen > 0)
    lead = q[:, 1] + 0.3 * spread * jax.random.normal(keys[0], (MOST,))
    rank = jnp.argsort(jnp.argsort(-jnp.where(seen > 0, lead, -jnp.inf))) / seen.sum()
    steep = jnp.array([0.0, 1.0, 3.0, 8.0, 20.0])[jax.random.randint(keys[1], (), 0, 5)]
    deepest = jnp.exp(jax.random.uniform(keys[2]) * jnp.log(1.0 * total))
    n = 1 + jnp.floor((deepest - 1) * jnp.maximum(1.0 - rank, 0.0) ** steep).astype(jnp.int32)
    left = jnp.ceil(jnp.exp(jax.random.uniform(keys[3]) * jnp.log(2.0 * total)))
    return jnp.clip(n, 1, total), left.astype(jnp.int32)


def judged(weights: Weights, choice: Choice) -> Array:
    """The network's scores of the arms of a choice, [R]; names are read once for all."""
    layer = weights["finisher_token"]
    read = choice.values @ layer[:OF_VALUES] + choice.names @ layer[OF_VALUES:]
    read = read + weights["finisher_token_bias"]
    configured = after_reading(jnp, weights, read, choice.values[:, :, :1])
    return scores(jnp, weights, choice.curves, configured, choice.seen)


def start(key: Array) -> dict[str, Array]:
    """Small random weights."""
    sizes: dict[str, tuple[int, int, float]] = {
        "token": (COLUMNS, HIDDEN, 1.0),
        "context": (HIDDEN, HIDDEN, 0.3),
        "again": (HIDDEN, HIDDEN, 1.0),
        "configuration": (HIDDEN, HIDDEN, 0.5),
        "curve": (FEATURES, HIDDEN, 1.0),
        "hidden": (HIDDEN, HIDDEN, 1.0),
    }
    for layer in range(LAYERS):
        sizes[f"attend_{layer}"] = (HIDDEN, 3 * HIDDEN, 1.0)
        sizes[f"joined_{layer}"] = (HIDDEN, HIDDEN, 0.5)
        sizes[f"wide_{layer}"] = (HIDDEN, 2 * HIDDEN, 1.0)
        sizes[f"narrow_{layer}"] = (2 * HIDDEN, HIDDEN, 0.5)
    keys = jax.random.split(key, len(sizes) + 1)
    weights = {
        f"finisher_{name}": scale * jax.random.normal(k, (a, b)) / np.sqrt(a)
        for k, (name, (a, b, scale)) in zip(keys[1:], sizes.items(), strict=True)
    }
    for name in ("token", "again", "curve", "hidden"):
        weights[f"finisher_{name}_bias"] = jnp.zeros(HIDDEN)
    for layer in range(LAYERS):
        weights[f"finisher_wide_bias_{layer}"] = jnp.zeros(2 * HIDDEN)
    weights["finisher_output"] = 0.05 * jax.random.normal(keys[0], (HIDDEN,)) / np.sqrt(HIDDEN)
    return weights


def loss(weights: Weights, choices: Choice) -> Array:
    """Regret of arms drawn by their scores, and how far scores are from the best arms."""
    logs = jax.nn.log_softmax(jax.vmap(partial(judged, weights))(choices))
    missed = (jnp.exp(logs) * choices.regret).sum(axis=1)
    good = jax.nn.softmax(jnp.where(choices.seen > 0, -choices.regret / _NEAR, -jnp.inf))
    copied = (good * jnp.where(choices.seen > 0, logs, 0.0)).sum(axis=1)
    matters = choices.regret.max(axis=1) > 1e-4
    value: Array = (5.0 * missed - 0.3 * matters * copied).mean()
    return value


@jax.jit
def improve(
    weights: Weights, moments: Moments, pool: NamedTasks, key: Array, rate: Array
) -> tuple[Weights, Moments, Array]:
    """`STRIDE` steps of Adam with decaying weights, and the mean loss."""

    def step(state: tuple[Weights, Moments], key: Array) -> tuple[tuple[Weights, Moments], Array]:
        weights, moments = state
        one, two = jax.random.split(key)
        tasks = drawn_tasks(pool, one, STUDIES)
        drawn = jax.vmap(lambda k, task: draw(pool, k, task, varied=True))(
            jax.random.split(two, STUDIES), tasks
        )
        value, grads = jax.value_and_grad(loss)(weights, drawn)
        norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, _CLIP / (norm + 1e-9)), grads)
        weights = jax.tree.map(lambda w: w * (1.0 - rate * _DECAY * (w.ndim > 1)), weights)
        return adam(weights, moments, grads, rate), value

    (weights, moments), values = jax.lax.scan(
        step, (weights, moments), jax.random.split(key, STRIDE)
    )
    return weights, moments, values.mean()


def train(pool: NamedTasks, steps: int, rate: float, seed: int) -> Weights:
    """A network that has seen the tasks of a pool."""
    key = jax.random.PRNGKey(seed)
    weights: Weights = start(key)
    moments = still(weights)
    for done in range(0, steps, STRIDE):
        key, mine = jax.random.split(key)
        falling = 0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * done / steps))
        now = rate * min(1.0, (done + 1) / min(500, 1 + steps // 10)) * falling
        weights, moments, value = improve(weights, moments, pool, mine, now)
        if done % (40 * STRIDE) == 0:
            print(f"finisher {done} {float(value):.4f}", flush=True)
    return weights


def tried_out(
    weights: Weights, pool: NamedTasks, tasks: Sequence[int], draws: int
) -> tuple[float, float]:
    """Mean regret on some tasks of going on with what scores best, and with the best so far."""

    @jax.jit
    def both(task: Array, key: Array) -> tuple[Array, Array]:
        choices = jax.vmap(lambda k: draw(pool, k, task, varied=False))(
            jax.random.split(key, draws)
        )
        scored = jax.vmap(partial(judged, weights))(choices)
        best = jnp.where(choices.seen > 0, choices.now, -1.0)
        means = [
            jnp.take_along_axis(choices.regret, score.argmax(axis=1)[:, None], axis=1).mean()
            for score in (scored, best)
        ]
        return means[0], means[1]

    found = np.array([both(task, jax.random.PRNGKey(task)) for task in tasks], float)
    chosen, leading = found.mean(axis=0)
    return float(chosen), float(leading)


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.policy.finisher", description=__doc__)
    made.add_argument("--pool", required=True, help="file that benchmarks.policy.pool wrote")
    made.add_argument("--out", required=True, help="file of the weights, .npz")
    add_leave_out(made)
    made.add_argument("--steps", type=int, default=24000)
    made.add_argument("--rate", type=float, default=1e-3, help="of learning; falls to 2%% of it")
    made.add_argument("--seed", type=int, default=0)
    return parsed(made, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, try it on what was left out, and write the weights."""
    options = options_of(arguments)
    tables = Tables(options.pool)
    kept = tables.labels.chosen(options.leave_out, options.leave_out_kind)
    inside = tables.named_without(kept)
    pool = tables.on_device(inside)
    weights = train(pool, options.steps, options.rate, options.seed)
    write(Path(options.out), options.command, "finisher", weights, tables.labels.training(kept))
    tasks = sorted({*tables.named()} - {*inside})
    if tasks:
        chosen, leading = tried_out(weights, pool, tasks, 40)
        print(f"left out: regret {chosen:.4f}, going on with the best so far {leading:.4f}")


if __name__ == "__main__":
    main()
