"""Train the learned policy: play studies, and make likelier what ended well.

A policy-gradient method (proximal policy optimisation). The same study is played several times;
what counts is how much better a play ended than the others of its study, so easy and hard tasks
weigh alike. A critic that is told the mean of those others follows the play step by step.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.adam import Moments, adam, still
from benchmarks.policy.options import parsed, parser, save
from benchmarks.policy.pool import WEIGHTS, Labels, read_labels
from benchmarks.policy.studies import (
    ARMS,
    MANY,
    Instance,
    Mix,
    Pool,
    State,
    begin,
    draw_many,
    land,
    look,
    read_pool,
    ready,
    regret,
    set_off,
)
from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.network import Weights, outputs, preferences, trunk
from bhpt.beliefs.learned.schema import BINS, SCHEMA, arm_column
from bhpt.beliefs.learned.weights import read_any_weights
from bhpt.domain import Misuse

HIDDEN = 64
PLAYS = 8  # of each study
STUDIES = 256  # played at a time
STRIDE = 10  # steps in one call: whatever the budget, one compiled program plays them
LAMBDA = 0.97
_Pair = tuple[Array, Array]
CLIP = 0.2
_TRIED, _IMPROVEMENT, _LOG_GAP = map(arm_column, ("tried", "improvement", "log_gap_to_best"))


class Bucket(NamedTuple):
    """Studies that are played together.

    Attributes:
        short: Their shortest budget.
        long: Their longest.
        chance: That an iteration plays them.
        studies: How many; one program is compiled for each number, and each number of arms.
        room: Arms of a study, at most.
    """

    short: int
    long: int
    chance: float
    studies: int = STUDIES
    room: int = ARMS


class Course(NamedTuple):
    """What is trained on.

    Attributes:
        buckets: Budgets.
        mix: How studies are drawn.
        steps: Of a play, for each unit of its longest budget.
        patience: How far credit for a step reaches back: 0 by units, 1 by units of each worker.
    """

    buckets: tuple[Bucket, ...]
    mix: Mix
    steps: float
    patience: float


COURSES = {
    "few": Course(
        (
            Bucket(5, 10, 0.12),
            Bucket(11, 20, 0.17),
            Bucket(21, 50, 0.21),
            Bucket(51, 100, 0.22),
            Bucket(101, 200, 0.16),
            Bucket(201, 400, 0.09),
            Bucket(401, 1000, 0.03, 102),
        ),
        mix=Mix(),
        steps=1.0,
        patience=0.0,
    ),
    "many": Course(
        (
            Bucket(10, 50, 0.1, 96, 128),
            Bucket(51, 100, 0.18, 96, 128),
            Bucket(101, 200, 0.24, 96, 128),
            Bucket(201, 400, 0.2, 96, 128),
            Bucket(401, 800, 0.24, 48, 256),
            Bucket(801, 1600, 0.04, 48, 256),
        ),
        mix=MANY,
        steps=1.15,
        patience=0.5,
    ),
}


class Record(NamedTuple):
    """A step of all plays."""

    arms: Array
    study: Array
    can: Array
    exists: Array
    arm: Array
    logp: Array
    valid: Array
    target: Array
    worth: Array


def start_weights(key: Array, arms: int, study: int, hidden: int) -> dict[str, Array]:
    """Small random weights of a network with some hidden units."""
    h, shared = hidden, study + arms
    shapes = {
        "arm_input": (arms, h),
        "shared_input": (shared, h),
        "hidden": (h, h),
        "context": (3 * h + shared, h),
        "output": (h, h),
        "output_context": (h, h),
    }
    keys = jax.random.split(key, len(shapes))
    weights = {
        name: jax.random.normal(k, shape) * np.sqrt(1.5 / shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    for name in ("input_bias", "hidden_bias", "context_bias", "output_bias"):
        weights[name] = jnp.zeros(h)
    weights["preference"] = jnp.zeros(h)
    weights["value"] = jnp.zeros(h)
    return weights


def judge(
    weights: Weights, arms: Array, study: Array, exists: Array, can: Array
) -> tuple[Array, Array]:
    """Preferences, [K], and the critic's correction."""
    hidden, context = trunk(jnp, weights, arms, study, exists)
    out = outputs(jnp, weights, hidden, context)
    return preferences(jnp, weights, out, can), context @ weights["value"]


def teacher(arms: Array, can: Array, tried: Array, budget: Array) -> Array:
    """i-Epoch as a start: half of the budget for first looks, then the best."""
    seen = arms[:, _TRIED]
    fresh = can * (1 - seen)
    known = can * seen
    explore = (tried < 0.5 * budget) & (fresh.sum() > 0) | (known.sum() == 0)
    score = jnp.where(known > 0, arms[:, _IMPROVEMENT] - 0.02 * arms[:, _LOG_GAP], -1e3)
    return jnp.where(explore, fresh, 1.0 * (jnp.arange(len(can)) == jnp.argmax(score)))


@partial(jax.jit, static_argnames=("plays",))
def repeat(instances: Instance, plays: int) -> tuple[Instance, State]:
    """Each study several times, and their beginnings."""
    many = jax.tree.map(lambda a: jnp.repeat(a, plays, axis=0), instances)
    return many, jax.vmap(begin)(many)


@jax.jit
def play(
    weights: Weights, instances: Instance, states: State, key: Array, taught: Array
) -> tuple[State, Record]:
    """`STRIDE` steps of all studies: their states, and records [STRIDE, N, ..]."""

    def one(instance: Instance, state: State, key: Array) -> tuple[State, Record]:
        state = land(instance, state)
        arms, study, can = look(instance, state)
        valid = ready(instance, state) * (can.sum() > 0)
        logits, worth = judge(weights, arms, study, instance.exists, can)
        target = teacher(arms, can, (state.n > 0).sum(), instance.budget)
        used = jnp.where(taught, jnp.log(target + 1e-9), logits)
        arm = jax.random.categorical(key, used)
        logp = jax.nn.log_softmax(logits)[arm]
        kept = arms.astype(jnp.float16)
        record = Record(kept, study, can, instance.exists, arm, logp, valid, target, worth)
        return set_off(instance, state, arm, valid), record

    def step(states: State, key: Array) -> tuple[State, Record]:
        return jax.vmap(one)(instances, states, jax.random.split(key, len(states.left)))

    return jax.lax.scan(step, states, jax.random.split(key, STRIDE))


@partial(jax.jit, static_argnames=("plays",))
def regrets_of(instances: Instance, states: State, plays: int) -> Array:
    """Regrets of plays that have ended, [studies, plays]."""
    return jax.vmap(regret)(instances, states).reshape(-1, plays)


def utility(regrets: Array) -> Array:
    """What is maximised: low regret, and the last thousandths too."""
    return -(regrets + 0.15 * jnp.log10(regrets + 1e-3))


@jax.jit
def advantages(worth: Array, valid: Array, regrets: Array, reach: Array) -> tuple[Array, Array]:
    """How much better each step made things, [L, N], and what the critic should have said, [N].

    Args:
        worth: What the critic said, [L, N].
        valid: 1 where a unit was run, [L, N].
        regrets: How plays ended, [studies, plays].
        reach: Part of the credit for a step that the one before it has a share in, [N].
    """
    value = utility(regrets)
    plays = value.shape[1]
    others = (value.sum(axis=1, keepdims=True) - value) / (plays - 1)
    spread = 0.5 * value.std(axis=1, keepdims=True) + 0.04
    gain = ((value - others) / spread).reshape(-1)

    def back(carry: _Pair, step: _Pair) -> tuple[_Pair, Array]:
        later, credit = carry
        said, on = step
        total = later - said + reach * credit
        kept = jnp.where(on > 0, said, later), jnp.where(on > 0, total, credit)
        return kept, total

    start = (gain, jnp.zeros_like(gain))
    _, advantage = jax.lax.scan(back, start, (worth, valid), reverse=True)
    scale = jnp.sqrt((valid * advantage**2).sum() / jnp.maximum(valid.sum(), 1.0)) + 1e-3
    return advantage / scale, gain


def loss(
    weights: Weights,
    records: Record,
    advantage: Array,
    gain: Array,
    entropy: Array,
    taught: Array,
) -> Array:
    """Of one chunk of steps.

    Of its gradient only: steps that were not valid count nothing there, but while a network is
    taught they have no target, and the loss itself is then not a number.
    """

    def one(r: Record, advantage: Array, gain: Array) -> Array:
        arms = r.arms.astype(jnp.float32)
        logits, worth = judge(weights, arms, r.study, r.exists, r.can)
        logs = jax.nn.log_softmax(logits)
        ratio = jnp.exp(jnp.clip(logs[r.arm] - r.logp, -5, 5))
        gained = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage)
        chance = jnp.exp(logs)
        chaos = -(chance * jnp.where(r.can > 0, logs, 0.0)).sum()
        copied = (r.target * jnp.where(r.target > 0, logs, 0.0)).sum() / r.target.sum()
        learn = jnp.where(taught, copied, gained + entropy * chaos)
        return r.valid * (-learn + 0.25 * (worth - gain) ** 2)

    each = jax.vmap(jax.vmap(one), in_axes=(0, 0, None))(records, advantage, gain)
    return each.sum() / jnp.maximum(records.valid.sum(), 1.0)


@jax.jit
def improve(
    weights: Weights,
    moments: Moments,
    records: Record,
    advantage: Array,
    gain: Array,
    rate: Array,
    entropy: Array,
    taught: Array,
) -> tuple[Weights, Moments]:
    """One step of Adam."""
    grads = jax.grad(loss)(weights, records, advantage, gain, entropy, taught)
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / (norm + 1e-9)), grads)
    return adam(weights, moments, grads, rate)


@jax.jit
def follow(weights: Weights, instances: Instance, states: State, key: Array) -> State:
    """`STRIDE` steps of studies whose every unit is the likeliest; untried arms count as one."""

    def one(instance: Instance, state: State, key: Array) -> State:
        state = land(instance, state)
        arms, study, can = look(instance, state)
        logits, _ = judge(weights, arms, study, instance.exists, can)
        fresh = can * (1 - arms[:, _TRIED])
        new = jnp.where(fresh > 0, logits, -1e9)
        known = jnp.where(fresh > 0, -1e9, logits)
        new = new + 1e-5 * jax.random.uniform(key, new.shape)
        arm = jnp.where(jax.nn.logsumexp(new) > known.max(), jnp.argmax(new), jnp.argmax(known))
        return set_off(instance, state, arm, ready(instance, state) * (can.sum() > 0))

    def step(states: State, key: Array) -> tuple[State, None]:
        return jax.vmap(one)(instances, states, jax.random.split(key, len(states.left))), None

    return jax.lax.scan(step, states, jax.random.split(key, STRIDE))[0]


class Turn(NamedTuple):
    """How one iteration learns: what is played, how many studies of it, and the rates."""

    course: Course
    bucket: Bucket
    studies: int
    rate: float
    entropy: float
    taught: bool


def iterate(
    weights: Weights,
    moments: Moments,
    pool: Pool,
    key: Array,
    turn: Turn,
    rng: np.random.Generator,
) -> tuple[Weights, Moments, float]:
    """Play some studies and learn from them: weights, moments and the mean regret of the plays."""
    course, bucket = turn.course, turn.bucket
    short, long, room = bucket.short, bucket.long, bucket.room
    keys = jax.random.split(key, 1 + int(course.steps * long) // STRIDE)
    drawn = draw_many(pool, keys[0], turn.studies, short, long, course.mix, room)
    instances, states = repeat(drawn, PLAYS)
    blocks = []
    for k in keys[1:]:
        states, block = play(weights, instances, states, k, turn.taught)
        blocks.append(block)
    regrets = regrets_of(instances, states, PLAYS)
    advantage, gain = advantages(
        jnp.concatenate([b.worth for b in blocks]),
        jnp.concatenate([b.valid for b in blocks]),
        regrets,
        LAMBDA ** (1.0 * instances.workers) ** -course.patience,
    )
    for at in rng.permutation(len(blocks)):
        part = advantage[at * STRIDE : (at + 1) * STRIDE]
        weights, moments = improve(
            weights, moments, blocks[at], part, gain, turn.rate, turn.entropy, turn.taught
        )
    return weights, moments, float(regrets.mean())


def start(pool: Pool, key: Array, grown_from: str = "") -> Weights:
    """Small random weights, or those of a file, grown if the network is told more by now."""
    probe = draw_many(pool, key, 1, 10, 10, Mix())
    arms, study, _ = jax.vmap(look)(probe, jax.vmap(begin)(probe))
    return grown(start_weights(key, arms.shape[2], study.shape[1], HIDDEN), grown_from)


def grown(weights: Mapping[str, Array], file: str) -> dict[str, Array]:
    """Weights as they are, or those of a file as far as it has them.

    Features are found by name: one that the file's network was not told counts nothing yet. What
    it has no array for, such as the critic, which is not shipped, begins anew. Hidden units that
    it lacks keep their random inputs, and what it knew does not listen to them yet: the grown
    network says what the old one said.

    Args:
        weights: Random weights of the network's shape.
        file: Of weights with as many hidden units or fewer.

    Raises:
        Misuse: The file was trained for features that mean something else by now, or has more
            hidden units.
    """
    if not file:
        return dict(weights)
    old = read_any_weights(Path(file))
    before = old.passport.schema
    if before.version != SCHEMA.version:
        raise Misuse(f"--start {file}: version {before.version}, not {SCHEMA.version}, of features")
    was, now = len(old["input_bias"]), len(weights["input_bias"])
    if was > now:
        raise Misuse(f"--start {file}: {was} hidden units, the network has {now}")
    arm = _places(before.arm_features, SCHEMA.arm_features)
    study = _places(before.study_features, SCHEMA.study_features)
    shared = [*study, *(at if at < 0 else at + len(before.study_features) for at in arm)]
    unit = [at if at < was else -1 for at in range(now)]
    pooled = [at if at < 0 else at + part * was for part in range(3) for at in unit]
    rows = {
        "arm_input": arm,
        "shared_input": shared,
        "context": [*pooled, *(at if at < 0 else at + 3 * was for at in shared)],
        "bins_bias": list(range(BINS)),
    }
    return {
        name: _widened(value, old[name], rows.get(name, unit)) if name in old else value
        for name, value in weights.items()
    }


def _places(before: Sequence[str], now: Sequence[str]) -> list[int]:
    """Where each of these names was, -1 if nowhere."""
    return [before.index(name) if name in before else -1 for name in now]


def _widened(fresh: Array, old: Array, places: Sequence[int]) -> Array:
    """An array of the grown network.

    Args:
        fresh: Random numbers of its shape; new columns of a matrix keep them.
        old: What the old network had.
        places: Where each row was in it, -1 for one that it did not have: zero in old columns.
    """
    at = np.array(places)
    there = at >= 0
    if old.ndim == 1:
        return jnp.asarray(np.where(there, old[np.maximum(at, 0)], 0.0))
    kept = np.where(there[:, None], old[np.maximum(at, 0)], 0.0)
    return jnp.concatenate([jnp.asarray(kept), fresh[:, old.shape[1] :]], axis=1)


def train(options: argparse.Namespace) -> None:
    """The loop."""
    labels = read_labels(Path(options.pool))
    kept = labels.chosen(options.leave_out, options.leave_out_kind)
    trained_on = labels.training(kept)
    pool = read_pool(options.pool, options.knowledge, kept)
    course = COURSES[options.course]
    key = jax.random.PRNGKey(options.seed)
    rng = np.random.default_rng(options.seed)
    weights = start(pool, key, options.start)
    moments = still(weights)
    began = told = time.time()
    history: dict[int, list[float]] = {}
    done = 0
    while (spent := (time.time() - began) / options.seconds) < 1:
        taught = done < options.taught
        buckets = course.buckets[: 4 if taught else None]
        chances = np.array([bucket.chance for bucket in buckets])
        bucket = buckets[rng.choice(len(buckets), p=chances / chances.sum())]
        key, mine = jax.random.split(key)
        rate = options.rate * (0.03 + 0.97 * 0.5 * (1 + np.cos(np.pi * spent)))
        studies = max(bucket.studies // options.shrink, 1)
        turn = Turn(course, bucket, studies, rate, 0.004 * (1 - spent), taught)
        weights, moments, regret_of = iterate(weights, moments, pool, mine, turn, rng)
        history.setdefault(bucket.long, []).append(regret_of)
        done += 1
        if time.time() - told > 90:
            told = time.time()
            line = " ".join(f"{b}:{np.mean(history[b][-20:]):.3f}" for b in sorted(history))
            print(f"{told - began:4.0f}s {done} {line}", flush=True)
            save(options, "policy", weights, trained_on)
    save(options, "policy", weights, trained_on)
    print("trained", done, flush=True)
    print("end", done, tries(weights, trials(pool, labels, kept), (10, 20, 50, 100, 200)))


def trials(pool: Pool, labels: Labels, kept: Sequence[str]) -> dict[str, Pool]:
    """The pool with the tasks of each kind alone that were kept, by kind."""
    alone = {*kept}
    named = list(zip(labels.names, labels.kinds, strict=True))
    shares = {
        one: labels.shares(WEIGHTS, [name in alone and kind == one for name, kind in named])
        for one in dict.fromkeys(kind for name, kind in named if name in alone)
    }
    return {
        kind: pool._replace(weights=jnp.asarray(of_kind, jnp.float32))
        for kind, of_kind in shares.items()
    }


def tries(weights: Weights, trials: dict[str, Pool], budgets: tuple[int, ...]) -> str:
    """Mean regrets on the tasks that were kept, kind by kind and budget by budget."""
    plain = Mix(*[0.0] * len(fields(Mix)))
    key = jax.random.PRNGKey(7)
    words = []
    for kind, pool in trials.items():
        scores = []
        for budget in budgets:
            instances = draw_many(pool, key, 512, budget, budget, plain)
            instances, states = repeat(instances, 1)
            for k in jax.random.split(key, budget // STRIDE):
                states = follow(weights, instances, states, k)
            scores.append(float(regrets_of(instances, states, 1).mean()))
        words.append(kind + " " + " ".join(f"{s:.3f}" for s in scores))
    return " | ".join(words)


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    made = parser("train", __doc__, 500.0, 1.5e-3, "3%% of it")
    made.add_argument("--taught", type=int, default=40, help="iterations that copy i-Epoch")
    made.add_argument("--course", choices=sorted(COURSES), default="few", help="workers and arms")
    made.add_argument("--seed", type=int, default=0)
    return parsed(made, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train for a while, tell how it goes, and write the weights."""
    train(options_of(arguments))


if __name__ == "__main__":
    main()
