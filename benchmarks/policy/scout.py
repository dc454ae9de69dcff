"""Train the network that picks an untried arm, by the curves of the tried ones and by names.

Supervised: some arms of a task are tried and stand somewhere on their curves, others are untried,
and each would end somewhere if it got all that is left, which the pool knows. The network learns to
give the highest score to the untried arm whose end is best: what is made small is the regret of
arms drawn by their scores. Beside it it learns the same of the tried arms, with an output of their
own that is not kept.

As for the networks that read names, names are spelled otherwise or replaced by ones that mean
nothing, and hyper-parameters and documented defaults left out, so that it does not learn tables by
heart. And often what names tell is wrong in this study: arms have got each other's values, by
chance or the good ones those of the bad, or some ranges run the other way. So it learns to check
what names tell against what the tried arms did.

Notation:
    R  arms of a choice (`MOST` tried ones, then `UNTRIED` others), N  hyper-parameters,
    H  hidden units, T  units of a training.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.finisher import (
    NEAR,
    ROWS,
    Course,
    Pool,
    add_course,
    bent,
    missed,
    moment,
    read_pool,
    scored,
    start,
    told,
    train,
)
from benchmarks.policy.options import add_leave_out, parsed, write
from benchmarks.policy.pool import NAMES, UNITS, read_labels
from benchmarks.policy.studies import counted_from_start, unpacked
from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.past import at
from bhpt.beliefs.learned.picker import MOST, curve_features
from bhpt.spaces.tokens import column

UNTRIED = 48  # untried arms that are compared at most
ARMS = MOST + UNTRIED
EXCHANGED = 0.4  # chance that arms have got each other's hyper-parameters
TURNED = 0.3  # chance that about half of the ranges run the other way
FIRST_LOOKS = 0.7  # weight of untried arms beside tried ones
_DECAY = 0.1
_MIDDLE, _APART = column("from_middle"), column("from_default")
_APART_SQUARED, _DOCUMENTED = column("from_default_squared"), column("has_default")
_ABSOLUTE = [column(name) for name in ("magnitude", "value", "below_one")]


class Choice(NamedTuple):
    """Tried arms, one of which is to go on, and untried ones, one of which is to be looked at.

    Attributes:
        curves: Features of the curves, [R, FEATURES].
        values: Tokens without names, [R, N, OF_VALUES].
        names: Hashes of the names, [N, NAME_HASH].
        tried: 1 for tried arms, [R].
        untried: 1 for untried arms, [R]; padding is neither.
        regret: What an arm would miss, beside the best tried one if it is tried, beside the best
            untried one if it is not, [R].
        now: Improvement of each so far, [R].
    """

    curves: Array
    values: Array
    names: Array
    tried: Array
    untried: Array
    regret: Array
    now: Array


def draw(pool: Pool, key: Array, task: Array, varied: bool) -> Choice:
    """Arms of a task, some of them somewhere on their curves, the others untried.

    Args:
        pool: The pool.
        key: Of random numbers.
        task: Which.
        varied: Whether names, defaults and scales are told otherwise, as in training.
    """
    keys = jax.random.split(key, 6)
    rows, tried, untried = _arms(pool, keys[0], task)
    exists, total = tried + untried, pool.table[task, 2]
    q = counted_from_start(unpacked(pool.curves[rows]), exists > 0)
    if varied:
        q = bent(keys[1], q)
    n, left = moment(keys[2], q, tried, total)
    n = n * (tried > 0)
    end = at(jnp, q, jnp.minimum(n + left, total))
    now = at(jnp, q, n) * tried
    last = at(jnp, q, jnp.full(ARMS, jnp.minimum(total, UNITS)))
    regret = _behind(jnp.maximum(end, now.max()), tried) + _behind(end, untried)
    values, names = told(pool, keys[3], task, rows, varied)
    if varied:
        values = _turned(keys[4], values)
        values = _exchanged(keys[5], values, last, exists)
    curves = curve_features(jnp, q, n, jnp.full(ARMS, 1.0 * left), 1.0 * total, tried)
    scale = jnp.maximum((exists * last).max(), NEAR)
    return Choice(curves, values, names, tried, untried, regret / scale, now)


def _arms(pool: Pool, key: Array, task: Array) -> tuple[Array, Array, Array]:
    """Rows of the arms of a choice, which of them are tried, and which are untried, each [R].

    At least one arm is tried; few are more often than many.
    """
    one, two = jax.random.split(key)
    first, count = pool.table[task, 0], pool.table[task, 1]
    order = jax.random.uniform(one, (ROWS,)) + 10.0 * (jnp.arange(ROWS) >= count)
    drawn = jax.lax.top_k(-order, ARMS)[1]
    most = jnp.clip(count - 2, 1, MOST)
    many = jnp.clip(jnp.round(jax.random.uniform(two) ** 1.5 * most).astype(int), 1, most)
    place = jnp.arange(ARMS)
    tried = place < many
    other = place - MOST + many  # of the arms drawn, those after the tried ones
    untried = (place >= MOST) & (other < count)
    rows = first + drawn[jnp.where(place < MOST, place, other)]
    return rows, 1.0 * tried, 1.0 * untried


def _behind(end: Array, among: Array) -> Array:
    """How far the end of each of some arms is behind the best of them, 0 for others, [R]."""
    return among * ((end * among).max() - end)


def _turned(key: Array, values: Array) -> Array:
    """Tokens of a space of which some ranges run the other way, at times, [R, N, OF_VALUES].

    What a value is in itself is then left out.
    """
    one, two = jax.random.split(key)
    turned = (jax.random.uniform(one) < TURNED) & (jax.random.uniform(two, (NAMES,)) < 0.5)
    middle, apart = values[:, :, _MIDDLE], values[:, :, _APART]
    known = values[:, :, _DOCUMENTED]
    other = values.at[:, :, _MIDDLE].set(-middle)
    other = other.at[:, :, _APART].add(-2.0 * known * middle)
    other = other.at[:, :, _APART_SQUARED].add(4.0 * known * middle * (middle - apart))
    other = other.at[:, :, jnp.array(_ABSOLUTE)].set(0.0)
    return jnp.where(turned[None, :, None], other, values)


def _exchanged(key: Array, values: Array, last: Array, exists: Array) -> Array:
    """Tokens that arms have got from each other, at times, [R, N, OF_VALUES].

    The best arm has those of the worst and so on, or about any arm those of any other.

    Args:
        key: Of random numbers.
        values: Tokens, [R, N, OF_VALUES].
        last: Improvements at the end, [R].
        exists: 1 for arms, 0 for padding, [R].
    """
    keys = jax.random.split(key, 3)
    chance = jnp.where(jax.random.uniform(keys[0]) < 0.5, 0.3, 30.0)
    noise = chance * jnp.std(last, where=exists > 0) * jax.random.normal(keys[1], last.shape)
    order = jnp.argsort(jnp.where(exists > 0, -last - noise, jnp.inf))
    place, count = jnp.arange(ARMS), exists.sum().astype(int)
    partner = jnp.where(place < count, count - 1 - place, place)
    swapped = jnp.zeros_like(values).at[order].set(values[order[partner]])
    return jnp.where(jax.random.uniform(keys[2]) < EXCHANGED, swapped, values)


def judged(weights: Weights, choice: Choice) -> Array:
    """Scores of the arms of a choice, of tried ones by the output that is not kept, [R]."""
    told_of = (choice.curves, choice.values, choice.names, choice.tried)
    going_on = scored({**weights, "output": weights["tried_output"]}, *told_of)
    return jnp.where(choice.tried > 0, going_on, scored(weights, *told_of))


def loss(weights: Weights, choices: Choice) -> Array:
    """What scores miss among tried arms and among untried ones."""
    found = jax.vmap(partial(judged, weights))(choices)
    going_on = missed(found, choices.regret, choices.tried)
    return going_on + FIRST_LOOKS * missed(found, choices.regret, choices.untried)


def looking(weights: Weights, pool: Pool, key: Array, tasks: Array) -> Array:
    """The loss on choices of an untried arm to look at, and of a tried one to go on with."""
    keys = jax.random.split(key, len(tasks))
    return loss(weights, jax.vmap(lambda k, task: draw(pool, k, task, varied=True))(keys, tasks))


def tried_out(
    weights: Weights, pool: Pool, tasks: Sequence[int], draws: int
) -> tuple[float, float]:
    """Mean regret on some tasks of the untried arm that scores best, and of any."""

    @jax.jit
    def both(task: Array, key: Array) -> tuple[Array, Array]:
        choices = jax.vmap(lambda k: draw(pool, k, task, varied=False))(
            jax.random.split(key, draws)
        )
        found = jnp.where(
            choices.untried > 0, jax.vmap(partial(judged, weights))(choices), -jnp.inf
        )
        best = jnp.take_along_axis(choices.regret, found.argmax(axis=1)[:, None], axis=1).mean()
        many = jnp.maximum(choices.untried.sum(axis=1), 1)
        return best, ((choices.regret * choices.untried).sum(axis=1) / many).mean()

    found = np.array([both(task, jax.random.PRNGKey(task)) for task in tasks], float)
    chosen, any_of_them = found.mean(axis=0)
    return float(chosen), float(any_of_them)


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.policy.scout", description=__doc__)
    made.add_argument("--pool", required=True, help="file that benchmarks.policy.pool wrote")
    made.add_argument("--out", required=True, help="file of the weights, .npz")
    add_leave_out(made)
    add_course(made, steps=9000)
    return parsed(made, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, try it on what was left out, and write the weights."""
    options = options_of(arguments)
    labels = read_labels(Path(options.pool))
    kept = labels.chosen(options.leave_out, options.leave_out_kind)
    pool = read_pool(options.pool, kept)
    begin = start(jax.random.PRNGKey(options.seed))
    course = Course("scout", looking, _DECAY, options.steps, options.rate, options.seed)
    weights = train(pool, {**begin, "tried_output": begin["output"]}, course)
    signed = {f"scout_{name}": w for name, w in weights.items() if name != "tried_output"}
    write(Path(options.out), options.command, "scout", signed, labels.training(kept))
    named = np.asarray(pool.called[:, 0]) >= 0
    tasks = [t for t, name in enumerate(labels.names) if name in {*kept} and named[t]]
    if tasks:
        chosen, any_of_them = tried_out(weights, pool, tasks, 40)
        print(f"left out: regret of first looks {chosen:.4f}, of any arm {any_of_them:.4f}")


if __name__ == "__main__":
    main()
