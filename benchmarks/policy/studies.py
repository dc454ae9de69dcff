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

ARMS = 100  # of a study, unless told otherwise
WORKERS = 64
TOGETHER = 8  # units that are reported in one step, if they end together
_PER_WORKER = 40  # units that a worker has time for, at most, where there are many of them
_CHEAP = 1.25  # units for one of the median cost, where costs differ
_SOON = 1e-4  # units whose ends are no further apart end together


class Pool(NamedTuple):
    """The packed curves, on the device; see `pool.pack`."""

    curves: Array
    features: Array
    said: Array
    table: Array
    weights: Array


class Instance(NamedTuple):
    """One study before its first unit, arms padded to K.

    Attributes:
        q: Improvements over ℓ_0 after each unit, best so far, negative above it, [K, UNITS + 1].
        exists: 1 for arms, 0 for padding, [K].
        costs: What a unit of each arm costs, [K].
        guessed: What it is held to cost until the arm's first report, [K].
        lasts: How long a unit of each arm takes, [K].
        units: Of a full training.
        budget: In units of the median cost, of all workers together.
        workers: How many units may be in flight.
        timed: 1 if the budget is a deadline: all workers have the same time, a price is what a
            unit takes of it, and what is in flight at its end is lost.
        shape: Fields of `Geometry`.
    """

    q: Array
    exists: Array
    costs: Array
    guessed: Array
    lasts: Array
    units: Array
    budget: Array
    workers: Array
    timed: Array
    shape: dict[str, Array]


class State(NamedTuple):
    """One study on its way.

    Attributes:
        n: Units of each arm that have been reported, [K].
        left: What is left once those in flight are paid, too; under a deadline, time.
        now: How long the study has run.
        last: 1 for the arm of the latest report, [K].
        covariance: Of what arms are like, given which of them have been reported, [K, K].
        flying: Arms in flight, the longest there first, then -1, [WORKERS].
        ends: When each of these units ends, [WORKERS].
    """

    n: Array
    left: Array
    now: Array
    last: Array
    covariance: Array
    flying: Array
    ends: Array


@dataclass(frozen=True)
class Mix:
    """How studies are drawn: the chances of changes to a task.

    Attributes:
        stride: Of another unit.
        bend: Of a bent scale.
        costs: Of unequal prices.
        mispriced: Of prices that are wrong for arms without a report: they err, or are all alike.
        fewer: Of fewer arms.
        nameless: Of names that nobody knows.
        misled: Of names that mean the opposite.
        doubtful: Of names that tell less than usual: opinions are partly those of chance, smooth
            in the configuration as real ones are.
        beside: Of several workers.
        crowded: Of as many workers as the budget has units for `_PER_WORKER` of each, or more.
        timed: Of a deadline instead of a total.
        jittered: Of units that take longer or shorter than they cost, unless there is a deadline.
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
    crowded: float = 0.0
    timed: float = 0.0
    jittered: float = 0.0


MANY = Mix(costs=0.5, mispriced=0.3, fewer=0.4, beside=0.85, crowded=0.9, timed=0.5, jittered=0.3)
"""Studies of many workers, unequal prices and deadlines."""


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


def draw(pool: Pool, key: Array, low: Array, high: Array, mix: Mix, room: int = ARMS) -> Instance:
    """A study: a task, at most `room` of its arms, a unit, prices, a budget of low .. high units.

    Where prices differ cheap units can be many: budgets are smaller there, so that few studies
    have more units than `high`.
    """
    keys = jax.random.split(key, 28)
    task = jax.random.choice(keys[0], len(pool.weights), p=pool.weights)
    start, rows, units, used = pool.table[task]
    chosen, exists = _arms(keys[1:4], rows, mix, room)
    q, longest = _curves(keys[4:9], unpacked(pool.curves[start + chosen]), units, exists, mix)
    x = pool.features[start + chosen].astype(jnp.float32)
    uneven = jax.random.uniform(keys[9]) < mix.costs
    costs = _costs(keys[10:13], x, exists, uneven)
    budget = 1.0 * jax.random.randint(keys[13], (), low, high + 1)
    budget = jnp.where(uneven, jnp.maximum(jnp.round(budget / _CHEAP), low), budget)
    way = jax.random.randint(keys[19], (), 0, len(pool.said))
    said = pool.said[way, start + chosen].astype(jnp.float32)
    said = _told(keys[14:16], _doubted(keys[18], said, x, exists, mix.doubtful), mix)
    shape = geometry(jnp, x, exists, 1.0 * (jnp.arange(FEATURES) < used), said)
    timed = jax.random.uniform(keys[25]) < mix.timed
    jittered = ~timed & (jax.random.uniform(keys[26]) < mix.jittered)
    pace = jnp.exp(jnp.where(jittered, 0.5 * jax.random.normal(keys[27], (room,)), 0.0))
    return Instance(
        q,
        exists,
        costs,
        _guessed(keys[20:24], costs, mix),
        costs * pace,
        longest,
        budget,
        _workers(keys[16:18], keys[24], budget, exists.sum(), mix),
        1.0 * timed,
        vars(shape),
    )


def _arms(keys: Array, rows: Array, mix: Mix, room: int) -> tuple[Array, Array]:
    """Which of a task's arms a study has, [room], and 1 for those that there are, [room]."""
    absent = jnp.arange(MOST_ARMS) >= rows
    order = jax.random.uniform(keys[0], (MOST_ARMS,)) + 10.0 * absent
    chosen = jax.lax.top_k(-order, room)[1]
    fewer = jax.random.uniform(keys[1]) < mix.fewer
    arms = jnp.where(fewer, jax.random.randint(keys[2], (), 20, room + 1), room)
    return chosen, 1.0 * (jnp.arange(room) < jnp.minimum(arms, rows))


def _curves(keys: Array, raw: Array, units: Array, exists: Array, mix: Mix) -> tuple[Array, Array]:
    """Improvements of the arms, [room, UNITS + 1], and the units of a full training.

    In some studies a unit is several of the table's, trainings are cut, or the scale is bent.
    """
    changed = jax.random.uniform(keys[0]) < mix.stride
    stride = jnp.where(changed, jax.random.choice(keys[1], jnp.array([2, 3, 5])), 1)
    stride = jnp.where(units // stride >= 5, stride, 1)
    shortest = jnp.minimum(jnp.maximum(units // 3, 5), units)
    cut = jnp.where(changed, jax.random.randint(keys[2], (), shortest, units + 1), units)
    q = raw[:, jnp.minimum(jnp.arange(UNITS + 1) * stride, units)] * exists[:, None]
    bent = jax.random.uniform(keys[3]) < mix.bend
    power = jnp.where(bent, jnp.exp(jax.random.uniform(keys[4], (), minval=-0.7, maxval=0.7)), 1.0)
    return jnp.sign(q) * jnp.abs(q) ** power, jnp.maximum(cut // stride, 1)


def _costs(keys: Array, x: Array, exists: Array, uneven: Array) -> Array:
    """What a unit of each arm costs, 1 for all or about 1 in the middle of them, [room]."""
    spread = jax.random.uniform(keys[0], (), minval=0.1, maxval=0.8)
    slope = jax.random.normal(keys[1], (FEATURES,))
    lean = (x - 0.5) @ slope * 1.5 + 0.5 * jax.random.normal(keys[2], (len(exists),))
    costs = jnp.exp(jnp.where(uneven, spread, 0.0) * lean)
    return costs / jnp.nanmedian(jnp.where(exists > 0, costs, jnp.nan))


def _guessed(keys: Array, costs: Array, mix: Mix) -> Array:
    """What a unit of each arm is taken to cost before its first, wrong in some studies, [room]."""
    wrong = jax.random.uniform(keys[0]) < mix.mispriced
    error = jax.random.uniform(keys[1], (), maxval=1.2) * jax.random.normal(keys[2], costs.shape)
    guessed = costs * jnp.exp(jnp.where(wrong, error, 0.0))
    alike = wrong & (jax.random.uniform(keys[3]) < 0.5)
    return jnp.where(alike, 1.0, guessed)


def _told(keys: Array, said: Array, mix: Mix) -> Array:
    """Opinions of the arms: none in some studies, the opposite in others, [room, OPINIONS]."""
    said = said * (jax.random.uniform(keys[0]) >= mix.nameless)
    lies = jnp.concatenate([-jnp.ones(OPINIONS - 1), jnp.ones(1)])
    return jnp.where(jax.random.uniform(keys[1]) < mix.misled, lies * said, said)


def _workers(keys: Array, crowd: Array, budget: Array, arms: Array, mix: Mix) -> Array:
    """How many workers a study has: one, several, or many for its budget."""
    several = jax.random.uniform(keys[0]) < mix.beside
    part = jax.random.uniform(keys[1])
    some = 1 + jnp.ceil(jnp.exp(part * jnp.log(WORKERS))).astype(jnp.int32)
    most = jnp.clip(jnp.minimum(budget / 2, 0.6 * arms), 1.0, WORKERS)
    fewest = jnp.clip(budget / _PER_WORKER, 1.0, most)
    many = jnp.ceil(fewest * (most / fewest) ** part).astype(jnp.int32)
    crowded = jax.random.uniform(crowd) < mix.crowded
    return jnp.where(several, jnp.minimum(jnp.where(crowded, many, some), WORKERS), 1)


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
        jnp.where(instance.timed > 0, _time(instance), instance.budget),
        jnp.zeros(()),
        jnp.zeros(arms),
        instance.shape["prior"],
        jnp.full(WORKERS, -1),
        jnp.zeros(WORKERS),
    )


def _time(instance: Instance) -> Array:
    """What the budget has for each worker; under a deadline, when it is."""
    return instance.budget / instance.workers


def _in_flight(state: State) -> Array:
    """1 for arms in flight, [K]."""
    return jax.nn.one_hot(state.flying, len(state.n)).sum(axis=0)  # -1 is no arm


def _bought(instance: Instance, state: State) -> Array:
    """Units that each arm's part of what is left pays for, [K]; see `View.bought`."""
    price = jnp.where(state.n > 0, instance.costs, instance.guessed)
    part = jnp.maximum(state.left / instance.workers, jnp.minimum(price, state.left))
    return jnp.floor(jnp.where(instance.timed > 0, state.left, part) / price + 1e-4)


def _can(instance: Instance, state: State) -> Array:
    """Arms that can run one more unit, [K]."""
    done = state.n >= instance.units
    return instance.exists * ~done * (_bought(instance, state) >= 1) * (1 - _in_flight(state))


def counted(instance: Instance, state: State) -> Array:
    """Improvements as deciding counts them, [K, UNITS + 1]."""
    return counted_from_start(instance.q, state.n > 0)


def counted_from_start(q: Array, tried: Array) -> Array:
    """Improvements counted from where tried curves start; see `scale.starting_level`.

    An arm at `LOWEST` after its first unit may have failed: it counts as one at ℓ_0 there.

    Args:
        q: Over ℓ_0, negative above it, [K, UNITS + 1].
        tried: Which arms have been, [K].
    """
    above = jnp.where(q[:, 1] > LOWEST, -q[:, 1], 0.0)
    order = jnp.sort(jnp.where(tried, above, jnp.inf))
    middle = order[jnp.maximum(tried.sum() - 1, 0) // 2]
    raised = jnp.where(jnp.isfinite(middle), jnp.maximum(middle, 0.0), 0.0)
    return jnp.maximum(q + raised, 0.0).at[:, 0].set(0.0)


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


def ready(instance: Instance, state: State) -> Array:
    """1 if a worker is free and nothing else is to be reported before it gets a unit."""
    busy = state.flying >= 0
    over = busy & (state.ends <= state.now + _SOON)
    return 1.0 * ((busy.sum() < instance.workers) & ~over.any())


def set_off(instance: Instance, state: State, arm: Array, valid: Array) -> State:
    """A unit of an arm takes off; nothing changes where `valid` is 0.

    A unit that costs more than what is left is never reported; it spends all of a total.
    """
    cost = instance.costs[arm]
    paid = cost <= state.left + 1e-4
    timed = instance.timed > 0
    free = jnp.argmax(state.flying < 0)
    put = (jnp.arange(WORKERS) == free) & (valid > 0) & (paid | timed)
    price = jnp.where(timed, 0.0, jnp.where(paid, cost, state.left))
    return state._replace(
        left=state.left - valid * price,
        flying=jnp.where(put, arm, state.flying),
        ends=jnp.where(put, state.now + instance.lasts[arm], state.ends),
    )


def land(instance: Instance, state: State) -> State:
    """The clock goes on to the next end of a unit, if no other one can be set off.

    The units that end then are reported, `TOGETHER` at most, those first that took off first.
    """
    busy = state.flying >= 0
    waits = (busy.sum() >= instance.workers) | (_can(instance, state).sum() == 0)
    soonest = jnp.where(busy, state.ends, jnp.inf).min()
    later = jnp.maximum(state.now, soonest)
    now = jnp.where(waits & busy.any(), later, state.now)
    over = busy & (state.ends <= now + _SOON)
    over = over & (jnp.cumsum(over) <= TOGETHER)
    late = (instance.timed > 0) & (state.ends > _time(instance) + _SOON)
    which = jnp.nonzero(over & ~late, size=TOGETHER, fill_value=WORKERS)[0]
    arms = jnp.concatenate([state.flying, jnp.full(1, -1)])[which]
    ones = jax.nn.one_hot(arms, len(state.n))  # -1 is no arm
    latest = ones[jnp.maximum((arms >= 0).sum() - 1, 0)]
    order = jnp.argsort(over | ~busy, stable=True)
    return State(
        state.n + ones.sum(axis=0).astype(jnp.int32),
        jnp.where(instance.timed > 0, jnp.maximum(_time(instance) - now, 0.0), state.left),
        now,
        jnp.where((arms >= 0).any(), latest, state.last),
        tried_too(state.covariance, ones * (state.n == 0)),
        jnp.where(over, -1, state.flying)[order],
        state.ends[order],
    )


def tried_too(covariance: Array, ones: Array) -> Array:
    """Covariance of what arms are like once some more have been tried, [K, K].

    Args:
        covariance: Before, [K, K].
        ones: 1 for the arm in each row; a row may be all 0, [A, K].
    """
    columns = covariance[ones.argmax(axis=1)] * ones.max(axis=1, keepdims=True)
    left: list[Array] = []  # of each column once those before it have been tried, scaled
    for one, column in zip(ones, columns, strict=True):
        known = sum((before * one).sum() * before for before in left)
        column_left = column - known
        left.append(column_left / jnp.sqrt((column_left * one).sum() + NOISE))
    reduction = jnp.stack(left)
    return covariance - jnp.matmul(reduction.T, reduction, precision="highest")


def regret(instance: Instance, state: State) -> Array:
    """Normalised regret of a study that has ended, once all have landed.

    The best is what one arm can reach that is trained without a pause from the start on.
    """
    bought = jnp.floor(_time(instance) / instance.costs + 1e-4).astype(jnp.int32)
    reach = jnp.minimum(bought, instance.units)
    best = jnp.max(at(jnp, instance.q, reach) * instance.exists, initial=0.0)
    counts = (instance.timed == 0) | (state.ends <= _time(instance) + _SOON)
    landing = jax.nn.one_hot(jnp.where(counts, state.flying, -1), len(state.n)).sum(axis=0)
    trained = state.n + landing.astype(jnp.int32)
    found = jnp.max(at(jnp, instance.q, trained) * instance.exists, initial=0.0)
    return jnp.maximum(best - found, 0.0) / jnp.maximum(best, 1e-6)


@partial(jax.jit, static_argnames=("count", "mix", "room"))
def draw_many(
    pool: Pool, key: Array, count: int, low: Array, high: Array, mix: Mix, room: int = ARMS
) -> Instance:
    """Many studies."""
    keys = jax.random.split(key, count)
    return jax.vmap(lambda k: draw(pool, k, low, high, mix, room))(keys)
