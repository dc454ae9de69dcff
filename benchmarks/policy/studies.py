"""Thousands of studies at once, on an accelerator: what a policy is trained and tried on.

Notation:
    N  studies, K  arms (padded), T  units of a full training, B  budget, L  steps played.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.options import listed
from benchmarks.policy.pool import ARMS as MOST_ARMS
from benchmarks.policy.pool import FEATURES, LOWEST, UNITS, WEIGHTS, read_labels
from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.features import NOISE, features
from bhpt.beliefs.learned.geometry import OPINIONS, Geometry, geometry
from bhpt.beliefs.learned.past import Moment, at

ARMS = 100
WORKERS = 64


class Pool(NamedTuple):
    """The packed curves, on the device; see `pool.pack`."""

    curves: Array
    features: Array
    said: Array
    table: Array
    weights: Array


class Instance(NamedTuple):
    """One study before its first unit, arms padded to `ARMS`.

    Attributes:
        q: Improvements over ℓ_0 after each unit, best so far, negative above it, [K, UNITS + 1].
        exists: 1 for arms, 0 for padding, [K].
        costs: What a unit of each arm costs, [K].
        guessed: What it is held to cost until the arm's first report, [K].
        units: Of a full training.
        budget: In units of the median cost.
        workers: How many units may be in flight.
        shape: Fields of `Geometry`.
    """

    q: Array
    exists: Array
    costs: Array
    guessed: Array
    units: Array
    budget: Array
    workers: Array
    shape: dict[str, Array]


class State(NamedTuple):
    """One study on its way.

    Attributes:
        n: Units of each arm that have been reported, [K].
        left: What is left once those in flight are paid, too.
        last: 1 for the arm of the latest report, [K].
        covariance: Of what arms are like, given which of them have been reported, [K, K].
        flying: Arms in flight, the longest there first, then -1, [WORKERS].
    """

    n: Array
    left: Array
    last: Array
    covariance: Array
    flying: Array


@dataclass(frozen=True)
class Mix:
    """How studies are drawn: the chances of changes to a task.

    Attributes:
        stride: Of another unit.
        bend: Of a bent scale.
        costs: Of unequal prices.
        mispriced: Of prices that are wrong for arms without a report.
        fewer: Of fewer arms.
        nameless: Of names that nobody knows.
        misled: Of names that mean the opposite.
        doubtful: Of names that tell less than usual: opinions are partly those of chance, smooth
            in the configuration as real ones are.
        beside: Of several workers.
    """

    stride: float = 0.2
    bend: float = 0.15
    costs: float = 0.25
    mispriced: float = 0.12
    fewer: float = 0.2
    nameless: float = 0.25
    misled: float = 0.12
    doubtful: float = 0.4
    beside: float = 0.25


def read_pool(
    file: str, knowledge: str, leave_out: tuple[str, ...], only: tuple[str, ...] = ()
) -> Pool:
    """The pool without the tasks that are kept for trying, or with these alone.

    Args:
        file: Of the pool.
        knowledge: Files of the opinions about it, with commas; none where this is empty.
        leave_out: Tasks that are kept.
        only: Tasks that are taken, all if there are none.

    Raises:
        Misuse: A task is named that the pool does not have.
    """
    labels = read_labels(Path(file))
    kept = {*labels.chosen(only or leave_out, ())}
    shares = labels.shares(WEIGHTS, [(name in kept) == bool(only) for name in labels.names])
    with np.load(file) as arrays:
        return Pool(
            jnp.asarray(arrays["curves"]),
            jnp.asarray(arrays["features"]),
            _said(knowledge, len(arrays["curves"])),
            jnp.asarray(arrays["table"], jnp.int32),
            jnp.asarray(shares, jnp.float32),
        )


def _said(knowledge: str, rows: int) -> Array:
    """Opinions about all rows of the pool, one set for each way of folding, [V, rows, OPINIONS]."""
    if not knowledge:
        return jnp.zeros((1, rows, OPINIONS), jnp.float16)
    found = []
    for file in listed(knowledge):
        with np.load(file) as arrays:
            found.append(arrays["opinions"])
    return jnp.asarray(np.concatenate(found))


def draw(pool: Pool, key: Array, low: Array, high: Array, mix: Mix) -> Instance:
    """A study: a task, some of its arms, a unit, prices and a budget of low .. high units."""
    keys = jax.random.split(key, 23)
    task = jax.random.choice(keys[0], len(pool.weights), p=pool.weights)
    start, rows, units, used = pool.table[task]
    absent = jnp.arange(MOST_ARMS) >= rows
    order = jax.random.uniform(keys[1], (MOST_ARMS,)) + 10.0 * absent
    chosen = jax.lax.top_k(-order, ARMS)[1]
    fewer = jax.random.uniform(keys[2]) < mix.fewer
    arms = jnp.where(fewer, jax.random.randint(keys[3], (), 20, ARMS + 1), ARMS)
    exists = 1.0 * (jnp.arange(ARMS) < jnp.minimum(arms, rows))
    raw = unpacked(pool.curves[start + chosen])
    changed = jax.random.uniform(keys[4]) < mix.stride
    stride = jnp.where(changed, jax.random.choice(keys[5], jnp.array([2, 3, 5])), 1)
    stride = jnp.where(units // stride >= 5, stride, 1)
    cut = jnp.where(
        changed,
        jax.random.randint(keys[6], (), jnp.minimum(jnp.maximum(units // 3, 5), units), units + 1),
        units,
    )
    longest = jnp.maximum(cut // stride, 1)
    q = raw[:, jnp.minimum(jnp.arange(UNITS + 1) * stride, units)] * exists[:, None]
    bent = jax.random.uniform(keys[7]) < mix.bend
    power = jnp.where(bent, jnp.exp(jax.random.uniform(keys[8], (), minval=-0.7, maxval=0.7)), 1.0)
    q = jnp.sign(q) * jnp.abs(q) ** power
    x = pool.features[start + chosen].astype(jnp.float32)
    uneven = jax.random.uniform(keys[9]) < mix.costs
    spread = jax.random.uniform(keys[10], (), minval=0.1, maxval=0.8)
    slope = jax.random.normal(keys[11], (FEATURES,))
    lean = (x - 0.5) @ slope * 1.5 + 0.5 * jax.random.normal(keys[12], (ARMS,))
    costs = jnp.exp(jnp.where(uneven, spread, 0.0) * lean)
    costs = costs / jnp.nanmedian(jnp.where(exists > 0, costs, jnp.nan))
    wrong = jax.random.uniform(keys[20]) < mix.mispriced
    error = jax.random.uniform(keys[21], (), maxval=1.2) * jax.random.normal(keys[22], (ARMS,))
    guessed = costs * jnp.exp(jnp.where(wrong, error, 0.0))
    budget = 1.0 * jax.random.randint(keys[13], (), low, high + 1)
    columns = 1.0 * (jnp.arange(FEATURES) < used)
    way = jax.random.randint(keys[19], (), 0, len(pool.said))
    said = pool.said[way, start + chosen].astype(jnp.float32)
    said = _doubted(keys[18], said, x, exists, mix.doubtful)
    said = said * (jax.random.uniform(keys[14]) >= mix.nameless)
    lies = jnp.concatenate([-jnp.ones(OPINIONS - 1), jnp.ones(1)])
    said = jnp.where(jax.random.uniform(keys[15]) < mix.misled, lies * said, said)
    shape = geometry(jnp, x, exists, columns, said)
    several = jax.random.uniform(keys[16]) < mix.beside
    many = jnp.exp(jax.random.uniform(keys[17], (), maxval=jnp.log(WORKERS)))
    workers = jnp.where(several, 1 + jnp.ceil(many).astype(jnp.int32), 1)
    workers = jnp.minimum(workers, WORKERS)
    return Instance(q, exists, costs, guessed, longest, budget, workers, vars(shape))


def unpacked(curves: Array) -> Array:
    """Improvements as they were before `pool.packed`."""
    return LOWEST + (1.0 - LOWEST) * curves.astype(jnp.float32) / 65535.0


def _doubted(key: Array, said: Array, x: Array, exists: Array, chance: float) -> Array:
    """Opinions that agree less with the truth, in some studies, [K, OPINIONS]."""
    keys = jax.random.split(key, 5)
    right = jax.random.uniform(keys[1])
    right = jnp.where(jax.random.uniform(keys[0]) < chance, right, 1.0)
    waves = 2.0 * jax.random.normal(keys[2], (x.shape[1], 8))
    phase = jax.random.uniform(keys[3], (8,), maxval=2 * jnp.pi)
    wrong = jnp.cos(x @ waves + phase) @ jax.random.normal(keys[4], (8, OPINIONS - 1))
    wrong, variance = _centred(wrong, exists)
    wrong = wrong / jnp.sqrt(variance + 1e-6)
    told, variance = _centred(said[:, :-1], exists)
    mixed = right * told + jnp.sqrt(1 - right**2 + 1e-9) * jnp.sqrt(variance) * wrong
    return jnp.concatenate([mixed, said[:, -1:]], axis=1)


def _centred(values: Array, exists: Array) -> tuple[Array, Array]:
    """What arms lie from their mean, [K, C], and their variance, [C]; padding does not count."""
    count = jnp.maximum(exists.sum(), 1.0)
    apart = values - (values * exists[:, None]).sum(axis=0) / count
    return apart, (apart**2 * exists[:, None]).sum(axis=0) / count


def begin(instance: Instance) -> State:
    """Nothing trained yet."""
    arms = len(instance.exists)
    return State(
        jnp.zeros(arms, jnp.int32),
        instance.budget,
        jnp.zeros(arms),
        instance.shape["prior"],
        jnp.full(WORKERS, -1),
    )


def _in_flight(state: State) -> Array:
    """1 for arms in flight, [K]."""
    return jax.nn.one_hot(state.flying, len(state.n)).sum(axis=0)  # -1 is no arm


def _bought(instance: Instance, state: State) -> Array:
    """Units that each arm's part of what is left pays for, [K]; see `View.bought`."""
    price = jnp.where(state.n > 0, instance.costs, instance.guessed)
    part = jnp.maximum(state.left / instance.workers, jnp.minimum(price, state.left))
    return jnp.floor(part / price + 1e-4)


def _can(instance: Instance, state: State) -> Array:
    """Arms that can run one more unit, [K]."""
    done = state.n >= instance.units
    return instance.exists * ~done * (_bought(instance, state) >= 1) * (1 - _in_flight(state))


def counted(instance: Instance, state: State) -> Array:
    """Improvements as deciding counts them, [K, UNITS + 1]; see `scale.starting_level`.

    An arm at `LOWEST` after its first unit may have failed: it counts as one at ℓ_0 there.
    """
    tried = state.n > 0
    above = jnp.where(instance.q[:, 1] > LOWEST, -instance.q[:, 1], 0.0)
    order = jnp.sort(jnp.where(tried, above, jnp.inf))
    middle = order[jnp.maximum(tried.sum() - 1, 0) // 2]
    raised = jnp.where(jnp.isfinite(middle), jnp.maximum(middle, 0.0), 0.0)
    return jnp.maximum(instance.q + raised, 0.0).at[:, 0].set(0.0)


def look(instance: Instance, state: State) -> tuple[Array, Array, Array]:
    """Features of the arms, [K, F], of the study, [G], and which arms can run, [K]."""
    can = _can(instance, state)
    moment = Moment(
        q=counted(instance, state),
        n=state.n,
        r=_bought(instance, state),
        total=instance.units,
        exists=instance.exists,
        open=can,
        last=state.last,
        flying=_in_flight(state),
        workers=instance.workers,
        covariance=state.covariance,
    )
    arms, study = features(jnp, moment, Geometry(**instance.shape))
    return arms, study, can


def set_off(instance: Instance, state: State, arm: Array, valid: Array) -> State:
    """A unit of an arm takes off; nothing changes where `valid` is 0.

    A unit that costs more than what is left spends it all and is never reported.
    """
    cost = instance.costs[arm]
    paid = cost <= state.left + 1e-4
    free = jnp.argmax(state.flying < 0)
    put = (jnp.arange(WORKERS) == free) & (valid > 0) & paid
    return state._replace(
        left=state.left - valid * jnp.where(paid, cost, state.left),
        flying=jnp.where(put, arm, state.flying),
    )


def land(instance: Instance, state: State) -> State:
    """The unit that has flown the longest is reported, if no other one can be set off."""
    busy = (state.flying >= 0).sum()
    due = (busy >= instance.workers) | (_can(instance, state).sum() == 0)
    due = 1.0 * (due & (busy > 0))
    arm = jnp.maximum(state.flying[0], 0)
    one = jax.nn.one_hot(arm, len(state.n))
    column = state.covariance[:, arm]
    gain = due * (state.n[arm] == 0) * column / (column[arm] + NOISE)
    behind = jnp.concatenate([state.flying[1:], jnp.full(1, -1)])
    return State(
        state.n + (due * one).astype(jnp.int32),
        state.left,
        jnp.where(due > 0, one, state.last),
        state.covariance - gain[:, None] * column[None, :],
        jnp.where(due > 0, behind, state.flying),
    )


def regret(instance: Instance, state: State) -> Array:
    """Normalised regret of a study that has ended, once all have landed."""
    bought = jnp.floor(instance.budget / instance.costs + 1e-4).astype(jnp.int32)
    reach = jnp.minimum(bought, instance.units)
    best = jnp.max(at(jnp, instance.q, reach) * instance.exists, initial=0.0)
    trained = state.n + _in_flight(state).astype(jnp.int32)
    found = jnp.max(at(jnp, instance.q, trained) * instance.exists, initial=0.0)
    return (best - found) / jnp.maximum(best, 1e-6)


@partial(jax.jit, static_argnames=("count", "mix"))
def draw_many(pool: Pool, key: Array, count: int, low: Array, high: Array, mix: Mix) -> Instance:
    """Many studies."""
    keys = jax.random.split(key, count)
    return jax.vmap(lambda k: draw(pool, k, low, high, mix))(keys)
