"""Train the learned policy: play studies, and make likelier what ended well.

A policy-gradient method (proximal policy optimisation). The same study is played several times;
what counts is how much better a play ended than the others of its study, so easy and hard tasks
weigh alike. A critic that is told the mean of those others follows the play step by step.
"""

import argparse
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.studies import (
    ARMS,
    Instance,
    Mix,
    State,
    begin,
    draw_many,
    look,
    read_pool,
    regret,
    run,
)
from bhpt.beliefs.learned.network import preferences, trunk

Array = Any
HIDDEN = 64
PLAYS = 8  # of each study
STUDIES = 256  # played at a time
STRIDE = 10  # steps in one call: whatever the budget, one compiled program plays them
LAMBDA = 0.97
CLIP = 0.2
BUCKETS = ((5, 10), (11, 20), (21, 50), (51, 100), (101, 200), (201, 400))
CHANCES = (0.20, 0.24, 0.24, 0.20, 0.08, 0.04)


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


def start_weights(key: Array, arms: int, study: int) -> dict[str, Array]:
    """Small random weights."""
    h, shared = HIDDEN, study + arms
    shapes = {
        "arm": (arms, h),
        "study": (shared, h),
        "mix": (h, h),
        "pool": (3 * h + shared, h),
        "own": (h, h),
        "others": (h, h),
    }
    keys = jax.random.split(key, len(shapes))
    weights = {
        name: jax.random.normal(k, shape) * np.sqrt(1.5 / shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    for name in ("bias", "mix_bias", "pool_bias", "own_bias"):
        weights[name] = jnp.zeros(h)
    weights["choice"] = jnp.zeros(h)
    weights["worth"] = jnp.zeros(h)
    return weights


def judge(weights: dict[str, Array], arms: Array, study: Array, exists: Array, can: Array) -> Any:
    """Preferences, [K], and the critic's correction."""
    out = trunk(jnp, weights, arms, study, exists)
    return preferences(jnp, weights, out, can), out[0, HIDDEN:] @ weights["worth"]


def teacher(arms: Array, can: Array, tried: Array, budget: Array) -> Array:
    """i-Epoch as a start: half of the budget for first looks, then the best."""
    seen = arms[:, 0]
    fresh = can * (1 - seen)
    known = can * seen
    explore = (tried < 0.5 * budget) & (fresh.sum() > 0) | (known.sum() == 0)
    score = jnp.where(known > 0, arms[:, 10] - 0.02 * arms[:, 11], -1e3)
    return jnp.where(explore, fresh, 1.0 * (jnp.arange(ARMS) == jnp.argmax(score)))


@partial(jax.jit, static_argnames=("plays",))
def repeat(instances: Instance, plays: int) -> tuple[Instance, State]:
    """Each study several times, and their beginnings."""
    many = jax.tree.map(lambda a: jnp.repeat(a, plays, axis=0), instances)
    return many, jax.vmap(begin)(many)


@jax.jit
def play(
    weights: dict[str, Array], instances: Instance, states: State, key: Array, taught: Array
) -> tuple[State, Record]:
    """`STRIDE` steps of all studies: their states, and records [STRIDE, N, ..]."""

    def one(instance: Instance, state: State, key: Array) -> tuple[State, Record]:
        arms, study, can = look(instance, state)
        valid = 1.0 * (can.sum() > 0)
        logits, worth = judge(weights, arms, study, instance.exists, can)
        target = teacher(arms, can, (state.n > 0).sum(), instance.budget)
        used = jnp.where(taught, jnp.log(target + 1e-9), logits)
        arm = jax.random.categorical(key, used)
        logp = jax.nn.log_softmax(logits)[arm]
        record = Record(arms, study, can, instance.exists, arm, logp, valid, target, worth)
        return run(instance, state, arm, valid), record

    def step(states: State, key: Array) -> tuple[State, Record]:
        return jax.vmap(one)(instances, states, jax.random.split(key, len(states.left)))

    return jax.lax.scan(step, states, jax.random.split(key, STRIDE))


@jax.jit
def regrets_of(instances: Instance, states: State) -> Array:
    """Regrets of plays that have ended, [studies, plays]."""
    return jax.vmap(regret)(instances, states).reshape(-1, PLAYS)


def utility(regrets: Array) -> Array:
    """What is maximised: low regret, and the last thousandths too."""
    return -(regrets + 0.15 * jnp.log10(regrets + 1e-3))


@jax.jit
def advantages(worth: Array, valid: Array, regrets: Array) -> tuple[Array, Array]:
    """How much better each step made things, [L, N], and what the critic should have said, [N].

    Args:
        worth: What the critic said, [L, N].
        valid: 1 where a unit was run, [L, N].
        regrets: How plays ended, [studies, plays].
    """
    value = utility(regrets)
    plays = value.shape[1]
    others = (value.sum(axis=1, keepdims=True) - value) / (plays - 1)
    spread = 0.5 * value.std(axis=1, keepdims=True) + 0.04
    gain = ((value - others) / spread).reshape(-1)
    later = jnp.concatenate([worth[1:], worth[-1:]])
    goes_on = jnp.concatenate([valid[1:], jnp.zeros_like(valid[:1])])
    delta = jnp.where(goes_on > 0, later, gain[None, :]) - worth

    def back(carry: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        d, on = step
        total = d + LAMBDA * on * carry
        return total, total

    _, advantage = jax.lax.scan(back, jnp.zeros_like(gain), (delta, goes_on), reverse=True)
    scale = jnp.sqrt((valid * advantage**2).sum() / jnp.maximum(valid.sum(), 1.0)) + 1e-3
    return advantage / scale, gain


def loss(
    weights: dict[str, Array],
    records: Record,
    advantage: Array,
    gain: Array,
    entropy: Array,
    taught: Array,
) -> Array:
    """Of one chunk of steps."""

    def one(r: Record, advantage: Array, gain: Array) -> Array:
        logits, worth = judge(weights, r.arms, r.study, r.exists, r.can)
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
    weights: dict[str, Array],
    moments: Any,
    records: Record,
    advantage: Array,
    gain: Array,
    rate: Array,
    entropy: Array,
    taught: Array,
) -> tuple[dict[str, Array], Any]:
    """One step of Adam."""
    grads = jax.grad(loss)(weights, records, advantage, gain, entropy, taught)
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / (norm + 1e-9)), grads)
    count, first, second = moments
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, grads)
    weights = jax.tree.map(
        lambda w, m, v: w
        - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-6),
        weights,
        first,
        second,
    )
    return weights, (count, first, second)


@jax.jit
def follow(
    weights: dict[str, Array], instances: Instance, states: State, key: Array
) -> State:
    """`STRIDE` steps of studies whose every unit is the likeliest; untried arms count as one."""

    def one(instance: Instance, state: State, key: Array) -> State:
        arms, study, can = look(instance, state)
        logits, _ = judge(weights, arms, study, instance.exists, can)
        fresh = can * (1 - arms[:, 0])
        new = jnp.where(fresh > 0, logits, -1e9)
        known = jnp.where(fresh > 0, -1e9, logits)
        new = new + 1e-5 * jax.random.uniform(key, new.shape)
        arm = jnp.where(jax.nn.logsumexp(new) > known.max(), jnp.argmax(new), jnp.argmax(known))
        return run(instance, state, arm, 1.0 * (can.sum() > 0))

    def step(states: State, key: Array) -> tuple[State, None]:
        return jax.vmap(one)(instances, states, jax.random.split(key, len(states.left))), None

    return jax.lax.scan(step, states, jax.random.split(key, STRIDE))[0]


def main() -> None:
    """Train for a while, tell how it goes, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--leave-out", default="")
    parser.add_argument("--start", default="")
    parser.add_argument("--shrink", type=int, default=1, help="play fewer studies, to try it out")
    parser.add_argument("--taught", type=int, default=40, help="iterations that copy i-Epoch")
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


def train(options: argparse.Namespace) -> None:
    """The loop."""
    kept = tuple(filter(None, options.leave_out.split(",")))
    pool = read_pool(options.pool, kept)
    trials = {
        suite: read_pool(options.pool, (), tuple(n for n in kept if _suite(n) == suite))
        for suite in dict.fromkeys(_suite(n) for n in kept)
    }
    key = jax.random.PRNGKey(options.seed)
    rng = np.random.default_rng(options.seed)
    probe = draw_many(pool, key, 1, 10, 10, Mix())
    arms, study, _ = look(*(jax.tree.map(lambda a: a[0], v) for v in (probe, jax.vmap(begin)(probe))))
    weights = start_weights(key, arms.shape[1], study.shape[0])
    if options.start:
        with np.load(options.start) as kept_weights:
            old = {name: jnp.asarray(kept_weights[name]) for name in kept_weights}
        weights = {name: _grown(old[name], value.shape) for name, value in weights.items()}
    zeros = jax.tree.map(jnp.zeros_like, weights)
    moments = (jnp.zeros(()), zeros, zeros)
    began = told = time.time()
    history: dict[int, list[float]] = {}
    done = 0
    while True:
        spent = (time.time() - began) / options.seconds
        if spent > 1:
            break
        taught = done < options.taught
        known = 4 if taught else len(BUCKETS)
        short, long = BUCKETS[rng.choice(known, p=_normed(np.array(CHANCES[:known])))]
        key, *keys = jax.random.split(key, 2 + long // STRIDE)
        drawn = draw_many(pool, keys[0], STUDIES // options.shrink, short, long, Mix())
        instances, states = repeat(drawn, PLAYS)
        blocks = []
        for k in keys[1:]:
            states, block = play(weights, instances, states, k, taught)
            blocks.append(block)
        regrets = regrets_of(instances, states)
        advantage, gain = advantages(
            jnp.concatenate([b.worth for b in blocks]),
            jnp.concatenate([b.valid for b in blocks]),
            regrets,
        )
        rate = options.rate * (0.03 + 0.97 * 0.5 * (1 + np.cos(np.pi * min(spent, 1.0))))
        for at in rng.permutation(len(blocks)):
            part = advantage[at * STRIDE : (at + 1) * STRIDE]
            weights, moments = improve(
                weights, moments, blocks[at], part, gain, rate, 0.004 * (1 - spent), taught
            )
        history.setdefault(long, []).append(float(regrets.mean()))
        done += 1
        if time.time() - told > 30:
            told = time.time()
            line = " ".join(f"{b}:{np.mean(history[b][-20:]):.3f}" for b in sorted(history))
            print(f"{told - began:4.0f}s {done} {line} {_tried(weights, trials, (20, 50))}", flush=True)
            np.savez(options.out, **weights)
    np.savez(options.out, **weights)
    print("end", done, _tried(weights, trials, (10, 20, 50, 100, 200)), flush=True)


def _grown(old: Array, shape: tuple[int, ...]) -> Array:
    """Weights of a network that was told less: what it was not told counts nothing yet.

    New features of arms are the last ones, and so are their rows in every matrix.
    """
    return jnp.pad(old, [(0, new - had) for had, new in zip(old.shape, shape, strict=True)])


def _suite(name: str) -> str:
    return name.partition(":")[0] if ":" in name else "tables"


def _normed(chances: Any) -> Any:
    return chances / chances.sum()


def _tried(weights: Any, trials: dict[str, Any], budgets: tuple[int, ...]) -> str:
    plain = Mix(0.0, 0.0, 0.0, 0.0)
    key = jax.random.PRNGKey(7)
    words = []
    for suite, pool in trials.items():
        scores = []
        for budget in budgets:
            instances = draw_many(pool, key, 512, budget, budget, plain)
            states = jax.vmap(begin)(instances)
            for k in jax.random.split(key, budget // STRIDE):
                states = follow(weights, instances, states, k)
            scores.append(float(jax.vmap(regret)(instances, states).mean()))
        words.append(suite + " " + " ".join(f"{s:.3f}" for s in scores))
    return " | ".join(words)


if __name__ == "__main__":
    main()
