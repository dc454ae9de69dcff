"""Train the network that picks among tried arms and among untried ones, by curves and names.

Supervised: some arms of a task are tried and stand somewhere on their curves, others are untried,
and each would end somewhere if it got all that is left, which the pool knows. The network learns to
give the highest score to the tried arm whose end is best, and to the untried arm whose end is best:
what is made small is the regret of arms drawn by their scores, for both.

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

from benchmarks.policy.adam import Moments, adam, still
from benchmarks.policy.knowledge import SHARES, SPARED, UNDOCUMENTED
from benchmarks.policy.options import add_leave_out, parsed, write
from benchmarks.policy.pool import NAMES, OF_VALUES, UNITS, read_labels
from benchmarks.policy.respelling import SPELLINGS, spellings
from benchmarks.policy.studies import counted_from_start, unpacked
from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.past import at
from bhpt.beliefs.learned.picker import (
    FEATURES,
    LAYERS,
    MOST,
    after_reading,
    curve_features,
    scores,
)
from bhpt.domain import Misuse
from bhpt.spaces.tokens import COLUMNS, NAME_HASH, column

HIDDEN = 64
STUDIES = 256  # in a step
STRIDE = 50  # steps in one call
ROWS = 256  # arms of a task that are drawn from at most
UNTRIED = 48  # untried arms that are compared at most
ARMS = MOST + UNTRIED
MEANINGLESS = 0.2  # chance that no name of a task means anything
EXCHANGED = 0.4  # chance that arms have got each other's hyper-parameters
TURNED = 0.3  # chance that about half of the ranges run the other way
BENT = 0.4  # chance of a bent scale of improvements
FIRST_LOOKS = 0.7  # weight of untried arms beside tried ones
_NEAR = 0.05  # regrets that count as about the same
_DECAY = 0.1
_CLIP = 1.0
_NEVER = -1e9
_MIDDLE, _APART = column("from_middle"), column("from_default")
_APART_SQUARED, _DOCUMENTED = column("from_default_squared"), column("has_default")
_DEFAULT = [_DOCUMENTED, _APART, _APART_SQUARED]
_ABSOLUTE = [column(name) for name in ("magnitude", "value", "below_one")]


class Pool(NamedTuple):
    """The named tasks of a pool, on the device.

    Attributes:
        curves: As `pool.pack` has them, [rows, UNITS + 1].
        tokens: Without names, [rows, N, OF_VALUES].
        table: First row, rows and units of each task, [tasks, 3].
        called: Which name each hyper-parameter has, -1 for none, [tasks, N].
        hashes: Of several spellings of each name, [names, SPELLINGS, NAME_HASH].
        shares: How often a task is drawn, [tasks].
    """

    curves: Array
    tokens: Array
    table: Array
    called: Array
    hashes: Array
    shares: Array


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


def read_pool(file: str, leave_out: Sequence[str]) -> Pool:
    """The named tasks of a pool without those that are left out.

    Raises:
        Misuse: The pool has no tokens.
    """
    labels = read_labels(Path(file))
    with np.load(file) as arrays:
        if "tokens" not in arrays:
            raise Misuse(f"{file} has no tokens: pack it anew with benchmarks.policy.pool")
        spoken = [[str(name) for name in row if name] for row in arrays["hyperparameters"]]
        curves, tokens, table = arrays["curves"], arrays["tokens"], arrays["table"]
    distinct = sorted({name for row in spoken for name in row})
    place = {name: number for number, name in enumerate(distinct)}
    called = np.full((len(spoken), NAMES), -1)
    for task, row in enumerate(spoken):
        called[task, : len(row)] = [place[name] for name in row]
    kept = {*leave_out}
    inside = [
        bool(row) and name not in kept for row, name in zip(spoken, labels.names, strict=True)
    ]
    return Pool(
        jnp.asarray(curves),
        jnp.asarray(tokens),
        jnp.asarray(table[:, :3], jnp.int32),
        jnp.asarray(called, jnp.int32),
        jnp.asarray(spellings(distinct, np.random.default_rng(3)), jnp.float32),
        jnp.asarray(labels.shares(SHARES, inside), jnp.float32),
    )


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
        q = _bent(keys[1], q)
    n, left = _moment(keys[2], q, tried, total)
    end = at(jnp, q, jnp.minimum(n + left, total))
    now = at(jnp, q, n) * tried
    last = at(jnp, q, jnp.full(ARMS, jnp.minimum(total, UNITS)))
    regret = _behind(jnp.maximum(end, now.max()), tried) + _behind(end, untried)
    values, names = _told(pool, keys[3], task, rows, varied)
    if varied:
        values = _turned(keys[4], values)
        values = _exchanged(keys[5], values, last, exists)
    told = curve_features(jnp, q, n, jnp.full(ARMS, 1.0 * left), 1.0 * total, tried)
    scale = jnp.maximum((exists * last).max(), _NEAR)
    return Choice(told, values, names, tried, untried, regret / scale, now)


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


def _bent(key: Array, q: Array) -> Array:
    """Improvements on another scale, at times."""
    one, two = jax.random.split(key)
    power = jnp.exp(jax.random.uniform(two, minval=-0.7, maxval=0.7))
    return jnp.where(jax.random.uniform(one) < BENT, q**power, q)


def _moment(key: Array, q: Array, tried: Array, total: Array) -> tuple[Array, Array]:
    """Units of each arm, more for those that started well, and units that are left."""
    keys = jax.random.split(key, 4)
    spread = jnp.std(q[:, 1], where=tried > 0)
    lead = q[:, 1] + 0.3 * spread * jax.random.normal(keys[0], (ARMS,))
    rank = jnp.argsort(jnp.argsort(-jnp.where(tried > 0, lead, -jnp.inf))) / tried.sum()
    steep = jnp.array([0.0, 1.0, 3.0, 8.0, 20.0])[jax.random.randint(keys[1], (), 0, 5)]
    deepest = jnp.exp(jax.random.uniform(keys[2]) * jnp.log(1.0 * total))
    n = 1 + jnp.floor((deepest - 1) * jnp.maximum(1.0 - rank, 0.0) ** steep).astype(jnp.int32)
    left = jnp.ceil(jnp.exp(jax.random.uniform(keys[3]) * jnp.log(2.0 * total)))
    return jnp.clip(n, 1, total) * (tried > 0), left.astype(jnp.int32)


def _told(pool: Pool, key: Array, task: Array, rows: Array, varied: bool) -> tuple[Array, Array]:
    """Tokens of some arms without names, [R, N, OF_VALUES], and names, [N, NAME_HASH]."""
    keys = jax.random.split(key, 6)
    values = pool.tokens[rows].astype(jnp.float32)
    called = pool.called[task]
    spelled = (
        jax.random.randint(keys[0], (NAMES,), 0, SPELLINGS) if varied else jnp.zeros(NAMES, int)
    )
    names = pool.hashes[jnp.maximum(called, 0), spelled]
    if varied:
        noise = jax.random.normal(keys[1], (NAMES, NAME_HASH))
        noise = noise / jnp.sqrt((noise**2).sum(axis=1, keepdims=True))
        nameless = jax.random.uniform(keys[2]) < MEANINGLESS
        names = jnp.where(nameless, noise, names)
        unknown = nameless | (jax.random.uniform(keys[3]) < UNDOCUMENTED)
        values = values.at[:, :, jnp.array(_DEFAULT)].multiply(1.0 - unknown)
        spared = jax.random.uniform(keys[4], (NAMES,)) < SPARED
        spared = spared & (jax.random.uniform(keys[5]) < 0.5)
        values = values * (1.0 - spared)[None, :, None]
    return values * values[:, :, :1], names * (called >= 0)[:, None]


def judged(weights: Weights, choice: Choice) -> Array:
    """The network's scores of the arms of a choice, [R]; names are read once for all."""
    layer = weights["picker_token"]
    read = choice.values @ layer[:OF_VALUES] + choice.names @ layer[OF_VALUES:]
    read = read + weights["picker_token_bias"]
    configured = after_reading(jnp, weights, read, choice.values[:, :, :1])
    return scores(jnp, weights, choice.curves, configured, choice.tried)


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
        f"picker_{name}": scale * jax.random.normal(k, (a, b)) / np.sqrt(a)
        for k, (name, (a, b, scale)) in zip(keys[1:], sizes.items(), strict=True)
    }
    for name in ("token", "again", "curve", "hidden"):
        weights[f"picker_{name}_bias"] = jnp.zeros(HIDDEN)
    for layer in range(LAYERS):
        weights[f"picker_wide_bias_{layer}"] = jnp.zeros(2 * HIDDEN)
    out = 0.05 * jax.random.normal(keys[0], (2, HIDDEN)) / np.sqrt(HIDDEN)
    weights["picker_tried"], weights["picker_untried"] = out
    return weights


def loss(weights: Weights, choices: Choice) -> Array:
    """What scores miss among tried arms and among untried ones."""
    scored = jax.vmap(partial(judged, weights))(choices)
    going_on = _missed(scored, choices.regret, choices.tried)
    return going_on + FIRST_LOOKS * _missed(scored, choices.regret, choices.untried)


def _missed(scored: Array, regret: Array, among: Array) -> Array:
    """Regret of arms drawn by their scores, and how far scores are from the best arms.

    Args:
        scored: Scores, [studies, R].
        regret: What each arm would miss, [studies, R].
        among: 1 for the arms that one is picked of, [studies, R].
    """
    logs = jax.nn.log_softmax(jnp.where(among > 0, scored, _NEVER))
    missed = (jnp.exp(logs) * regret * among).sum(axis=1)
    good = jax.nn.softmax(jnp.where(among > 0, -regret / _NEAR, _NEVER))
    copied = (good * jnp.where(among > 0, logs, 0.0)).sum(axis=1)
    matters = (regret * among).max(axis=1) > 1e-4
    value: Array = (5.0 * missed - 0.3 * matters * copied).mean()
    return value


@jax.jit
def improve(
    weights: Weights, moments: Moments, pool: Pool, key: Array, rate: Array
) -> tuple[Weights, Moments, Array]:
    """`STRIDE` steps of Adam with decaying weights, and the mean loss."""

    def step(state: tuple[Weights, Moments], key: Array) -> tuple[tuple[Weights, Moments], Array]:
        weights, moments = state
        one, two = jax.random.split(key)
        tasks = jax.random.categorical(one, jnp.log(pool.shares + 1e-30), shape=(STUDIES,))
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


def train(pool: Pool, steps: int, rate: float, seed: int) -> Weights:
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
            print(f"picker {done} {float(value):.4f}", flush=True)
    return weights


class Missed(NamedTuple):
    """Mean regrets of ways to pick.

    Attributes:
        tried: Going on with the tried arm that scores best.
        leading: Going on with the best tried arm so far.
        untried: Looking at the untried arm that scores best.
        any: Looking at any untried arm.
    """

    tried: Array
    leading: Array
    untried: Array
    any: Array


def tried_out(weights: Weights, pool: Pool, tasks: Sequence[int], draws: int) -> Missed:
    """What the network misses on some tasks, beside ways that need none."""

    @jax.jit
    def missed(task: Array, key: Array) -> Missed:
        choices = jax.vmap(lambda k: draw(pool, k, task, varied=False))(
            jax.random.split(key, draws)
        )
        scored = jax.vmap(partial(judged, weights))(choices)
        many = jnp.maximum(choices.untried.sum(axis=1), 1)
        return Missed(
            _best(scored, choices.regret, choices.tried),
            _best(choices.now, choices.regret, choices.tried),
            _best(scored, choices.regret, choices.untried),
            ((choices.regret * choices.untried).sum(axis=1) / many).mean(),
        )

    found = [missed(task, jax.random.PRNGKey(task)) for task in tasks]
    return Missed(*np.mean(found, axis=0))


def _best(scored: Array, regret: Array, among: Array) -> Array:
    """Mean regret of the arms that score best among some."""
    place = jnp.where(among > 0, scored, -jnp.inf).argmax(axis=1)
    return jnp.take_along_axis(regret, place[:, None], axis=1).mean()


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.policy.picker", description=__doc__)
    made.add_argument("--pool", required=True, help="file that benchmarks.policy.pool wrote")
    made.add_argument("--out", required=True, help="file of the weights, .npz")
    add_leave_out(made)
    made.add_argument("--steps", type=int, default=12000)
    made.add_argument("--rate", type=float, default=1e-3, help="of learning; falls to 2%% of it")
    made.add_argument("--seed", type=int, default=0)
    return parsed(made, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, try it on what was left out, and write the weights."""
    options = options_of(arguments)
    labels = read_labels(Path(options.pool))
    kept = labels.chosen(options.leave_out, options.leave_out_kind)
    pool = read_pool(options.pool, kept)
    weights = train(pool, options.steps, options.rate, options.seed)
    write(Path(options.out), options.command, "picker", weights, labels.training(kept))
    named = np.asarray(pool.called[:, 0]) >= 0
    tasks = [t for t, name in enumerate(labels.names) if name in {*kept} and named[t]]
    if tasks:
        missed = tried_out(weights, pool, tasks, 40)
        print(
            f"left out: regret {missed.tried:.4f}, going on with the best so far "
            f"{missed.leading:.4f}; of first looks {missed.untried:.4f}, by chance {missed.any:.4f}"
        )


if __name__ == "__main__":
    main()
