"""Train networks that read hyper-parameters, and ask them about every arm of the pool.

Supervised: small networks read the tokens of a configuration (`bhpt.spaces.tokens`) and learn which
rank its training ended at among the others of its task. They must also be right about spellings,
names and ranges that they have not seen; so in training names, defaults and hyper-parameters are
told in other ways (`named_tasks`), and ranges are cut.

The policy must learn how far to trust them on tasks that they have not seen; so each task of the
pool is judged by networks that were trained without it, or without its kind. For tasks without
names opinions are invented, good and bad ones, and none.

Notation:
    N  hyper-parameters, K  arms of a task, E  networks, F  numbers of a token
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import rankdata, spearmanr

from benchmarks.policy.adam import Moments, adam, still
from benchmarks.policy.named_tasks import (
    DEFAULT,
    ROWS,
    NamedTasks,
    Tables,
    drawn_tasks,
    some_of,
    told,
    window,
)
from benchmarks.policy.options import add_leave_out, parsed, write
from benchmarks.policy.pool import OF_VALUES
from bhpt.beliefs import experts
from bhpt.beliefs.experts import closeness_to_defaults, closeness_to_middle
from bhpt.beliefs.learned.arm_opinions import ask_experts
from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.geometry import OPINIONS
from bhpt.beliefs.learned.name_opinions import opinions_after_reading
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.weights import read_weights
from bhpt.domain import FloatArray
from bhpt.spaces.tokens import COLUMNS, column

NETWORKS = 4
TOLD = OPINIONS - 1  # what a network says; how far they are apart is the last opinion
HIDDEN = 64
BATCH = 48  # arms of one task
TASKS = 128  # in a batch of one network
STRIDE = 50  # steps in one call
RATE = 3e-3  # of learning; falls to a hundredth of it
COUNTED = 0.35  # part of what the networks have learned that they say, in case it misleads
MEANINGLESS = 0.15  # chance that no name of a task means anything
CUT = 0.3  # chance that arms come from a part of one range
_DECAY = 2e-5  # of weights
_NARROWEST = 0.25  # part of a range that is left of it
_FEWEST = 12  # arms that must be left in it
_MIDDLE, _MIDDLE_SQUARED = column("from_middle"), column("from_middle_squared")
_NUMBER = column("number")


def targets(curves: FloatArray) -> FloatArray:
    """Ranks of the arms of one task, about 0: at the end, to the 8th power, early, [K, TOLD].

    Args:
        curves: Improvements after each unit, [K, T + 1].
    """
    early = curves[:, -(-(curves.shape[1] - 1) // 8)]
    end = _rank(curves[:, -1])
    told = np.column_stack([end, end**8, _rank(early)])
    return told - told.mean(axis=0)


def _rank(values: FloatArray) -> FloatArray:
    return np.asarray(rankdata(values) / len(values))


def start(key: Array) -> Weights:
    """Small random weights of all networks."""
    sizes = {
        "reader_token": (COLUMNS, HIDDEN, 1.5),
        "reader_context": (HIDDEN, HIDDEN, 0.3),
        "reader_again": (HIDDEN, HIDDEN, 1.0),
        "reader_hidden": (HIDDEN, HIDDEN, 1.0),
        "reader_output": (HIDDEN, TOLD, 0.1),
    }
    weights: dict[str, Array] = {}
    for k, (name, (a, b, scale)) in zip(jax.random.split(key, 5), sizes.items(), strict=True):
        weights[name] = scale * jax.random.normal(k, (NETWORKS, a, b)) * np.sqrt(1.0 / a)
        if name not in ("reader_context", "reader_output"):
            weights[f"{name}_bias"] = jnp.zeros((NETWORKS, b))
    return weights


class Batch(NamedTuple):
    """Some arms of some tasks, other ones for each network.

    Attributes:
        values: Their tokens without names, [E, TASKS, BATCH, N, OF_VALUES].
        names: Hashes of the names, [E, TASKS, N, NAME_HASH].
        target: What is to be said about them, [E, TASKS, BATCH, TOLD].
    """

    values: Array
    names: Array
    target: Array


def batch(tasks: NamedTasks, target: Array, key: Array, each: int) -> Batch:
    """Some arms of some tasks for each network.

    Args:
        tasks: The pool.
        target: What is to be said about all its arms, [rows, TOLD].
        key: Of random numbers.
        each: Tasks of each network.
    """
    one, two = jax.random.split(key)
    some = drawn_tasks(tasks, one, NETWORKS * each)
    keys = jax.random.split(two, NETWORKS * each)
    parts = jax.vmap(partial(_varied, tasks, target))(keys, some)
    return Batch(*(part.reshape(NETWORKS, each, *part.shape[1:]) for part in parts))


def _varied(
    tasks: NamedTasks, target: Array, key: Array, task: Array
) -> tuple[Array, Array, Array]:
    """Some arms of a task, told in another way: values, names and targets, as in `Batch`."""
    keys = jax.random.split(key, 5)
    first, count = window(tasks, keys[0], task)
    allowed = jnp.arange(ROWS) < count
    at = jax.random.randint(keys[1], (), 0, (tasks.called[task] >= 0).sum())
    low, high = jnp.sort(jax.random.uniform(keys[2], (2,)))
    inside = allowed & _between(tasks.tokens[first + jnp.arange(ROWS), at], low, high)
    cut = (jax.random.uniform(keys[3]) < CUT) & (high - low > _NARROWEST)
    cut = cut & (inside.sum() >= _FEWEST)
    picking, telling = jax.random.split(keys[4])
    places = some_of(picking, jnp.where(cut, inside, allowed), BATCH)
    values = tasks.tokens[first + places].astype(jnp.float32)
    values = jnp.where(cut, _stretched(values, at, low, high), values)
    values, names = told(tasks, telling, task, values, MEANINGLESS)
    asked = target[first + places]
    return values, names, asked - asked.mean(axis=0)


def _between(tokens: Array, low: Array, high: Array) -> Array:
    """Whether each token of a hyper-parameter is a number in a part of its range."""
    middle = tokens[:, _MIDDLE].astype(jnp.float32) + 0.5
    return (middle >= low) & (middle <= high) & (tokens[:, _NUMBER] > 0)


def _stretched(tokens: Array, at: Array, low: Array, high: Array) -> Array:
    """Tokens as if the range of a hyper-parameter had been a part of what it was."""
    width = high - low
    mine = tokens[:, at]
    middle = (mine[:, _MIDDLE] + 0.5 - low) / width - 0.5
    _, apart, squared = DEFAULT
    mine = mine.at[:, _MIDDLE].set(middle).at[:, _MIDDLE_SQUARED].set(4.0 * middle**2)
    mine = mine.at[:, apart].set(jnp.clip(mine[:, apart] / width, -2.0, 2.0))
    mine = mine.at[:, squared].set(jnp.clip(mine[:, squared] / width**2, 0.0, 4.0))
    return tokens.at[:, at].set(mine)


@partial(jax.jit, static_argnames=("steps", "each"))
def improve(
    weights: Weights,
    moments: Moments,
    tasks: NamedTasks,
    target: Array,
    key: Array,
    rate: Array,
    steps: int,
    each: int,
) -> tuple[Weights, Moments, Array]:
    """Some steps of Adam, each network on its own part of a batch, and the mean loss."""

    def loss(weights: Weights, drawn: Batch) -> Array:
        said = jax.vmap(lambda one, part: jax.vmap(partial(_said, one))(part.values, part.names))(
            weights, drawn
        )
        decay = _DECAY * sum((w**2).sum() for w in jax.tree.leaves(weights))
        return NETWORKS * ((said - drawn.target) ** 2).mean() + decay

    def step(state: tuple[Weights, Moments], key: Array) -> tuple[tuple[Weights, Moments], Array]:
        weights, moments = state
        value, grads = jax.value_and_grad(loss)(weights, batch(tasks, target, key, each))
        return adam(weights, moments, grads, rate), value

    (weights, moments), values = jax.lax.scan(
        step, (weights, moments), jax.random.split(key, steps)
    )
    return weights, moments, values.mean()


def _said(one: Weights, values: Array, names: Array) -> Array:
    """What one network says of arms of one task, [BATCH, TOLD]; names are read once for all."""
    layer = one["reader_token"]
    read = values @ layer[:OF_VALUES] + names @ layer[OF_VALUES:] + one["reader_token_bias"]
    alone = jax.tree.map(lambda w: w[None], one)
    return opinions_after_reading(jnp, alone, read[None], values[:, :, :1])[:, :TOLD]


def train(tables: Tables, tasks: Sequence[int], steps: int, seed: int) -> Weights:
    """Networks that have seen these tasks alone, and say `COUNTED` of what they learned.

    Args:
        tables: The pool.
        tasks: Which of its tasks.
        steps: Of Adam, rounded up to whole calls of `improve`.
        seed: Of the first weights and of what is drawn.
    """
    key = jax.random.PRNGKey(seed)
    weights: Weights = start(key)
    moments = still(weights)
    named, target = tables.on_device(tasks), jnp.asarray(all_targets(tables, tasks))
    stride = min(STRIDE, steps)
    for done in range(0, steps, stride):
        key, mine = jax.random.split(key)
        falling = 0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * done / steps))
        rate = RATE * min(1.0, (done + 1) / STRIDE) * falling
        weights, moments, value = improve(
            weights, moments, named, target, mine, rate, steps=stride, each=TASKS
        )
        if done % (100 * STRIDE) == 0:
            print(f"readers of names {done} {float(value):.4f}", flush=True)
    return {**weights, "reader_output": COUNTED * weights["reader_output"]}


def all_targets(tables: Tables, tasks: Sequence[int]) -> FloatArray:
    """What is to be said about the arms of some tasks, among those of their task, [rows, TOLD]."""
    found = np.zeros((len(tables.curves), TOLD), np.float32)
    for task in tasks:
        rows = tables.rows(task)
        found[rows] = targets(tables.curves[rows, : tables.table[task][2] + 1].astype(float))
    return found


def invented(rng: np.random.Generator, target: FloatArray) -> FloatArray:
    """An opinion about arms that have no names: good, bad, or none, [K, OPINIONS]."""
    none = np.zeros((len(target), OPINIONS))
    if rng.random() < 0.35:
        return none
    right = rng.choice([rng.uniform(-0.4, 0.2), rng.uniform(0.2, 0.95)], p=[0.25, 0.75])
    noise = rng.standard_normal(target.shape[0])[:, None] * target.std(axis=0)
    said = right * target + np.sqrt(1 - right**2) * noise
    none[:, :TOLD] = said * rng.uniform(0.6, 1.1) * max(abs(right), rng.uniform(0.05, 0.6))
    none[:, TOLD] = rng.uniform(0.02, 0.15) * rng.uniform(0.5, 1.5, len(target))
    return none


def ask(weights: Weights, tokens: FloatArray) -> FloatArray:
    """What experts together say of configurations, as a study without earlier ones is told."""
    said = ask_experts(tokens, None, {name: np.asarray(w) for name, w in weights.items()})
    return experts.combined(said, experts.weights(said, []))


def folds(tables: Tables, tasks: Sequence[int], by: str, most: int) -> list[list[int]]:
    """The tasks in parts, each of which is judged by networks that have seen the others alone.

    Args:
        tables: The pool.
        tasks: Those that are learned from.
        by: `task` parts them by chance, `kind` keeps all tasks of a kind together.
        most: How many parts there are at most.
    """
    labels = [tables.labels.kinds[t] if by == "kind" else tables.names[t] for t in tasks]
    each = list(dict.fromkeys(labels))
    count = min(most, len(each))
    fold = dict(zip(each, np.random.default_rng(1).permutation(len(each)) % count, strict=True))
    return [
        [t for t, label in zip(tasks, labels, strict=True) if fold[label] == part]
        for part in range(count)
    ]


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.policy.knowledge", description=__doc__
    )
    made.add_argument("--pool", required=True, help="file that benchmarks.policy.pool wrote")
    made.add_argument(
        "--out",
        required=True,
        help="file of opinions about the pool, .npz; the networks go to names.npz beside it",
    )
    add_leave_out(made)
    made.add_argument(
        "--fold-by",
        choices=("task", "kind", "both", "none"),
        default="both",
        help="judge each task by networks that have not seen it, have not seen its kind, or both",
    )
    made.add_argument("--steps", type=int, default=2000)
    made.add_argument(
        "--names", default="", help="networks that were trained before on the same tasks"
    )
    made.add_argument("--folds", type=int, default=6, help="parts of the tasks, and of the kinds")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Train without each part of the tasks in turn, then with all of them."""
    options = parsed(parser(), arguments)
    tables = Tables(options.pool)
    kept = tables.labels.chosen(options.leave_out, options.leave_out_kind)
    tasks = tables.named_without(kept)
    if options.names:
        weights: Weights = read_weights(Path(options.names), "names")
    else:
        weights = train(tables, tasks, options.steps, 0)
        file = Path(options.out).with_name("names.npz")
        write(file, options.command, "names", weights, tables.labels.training(kept))
    ways = ("task", "kind") if options.fold_by == "both" else (options.fold_by,)
    said = np.stack([crossed(tables, tasks, weights, by, options) for by in ways])
    tell("left out", tables, said[0], [t for t in tables.named() if tables.names[t] in kept])
    np.savez_compressed(options.out, opinions=said.astype(np.float16))


def crossed(
    tables: Tables,
    tasks: Sequence[int],
    weights: Weights,
    by: str,
    options: argparse.Namespace,
) -> FloatArray:
    """Opinions about all arms of the pool, each by networks that have not seen its task or kind.

    Args:
        tables: The pool.
        tasks: Those that may be learned from.
        weights: Networks that have seen all of these; they judge the tasks that are left out.
        by: `task` or `kind`, see `folds`; `none` asks the same networks about all of them.
        options: Steps of training each fold's networks, and how many folds.

    Returns:
        One row an arm, [rows, OPINIONS].
    """
    said = np.zeros((len(tables.curves), OPINIONS), np.float32)
    for task in tables.named():  # those left out are judged as they will be in earnest
        said[tables.rows(task)] = ask(weights, tables.read(task))
    parts = [] if by == "none" else folds(tables, tasks, by, options.folds)
    for fold, part in enumerate(parts):
        blind = train(tables, [t for t in tasks if t not in part], options.steps, fold)
        for task in part:
            said[tables.rows(task)] = ask(blind, tables.read(task))
        print(f"by {by}: fold {fold + 1} of {len(parts)}", flush=True)
    tell(f"by {by}", tables, said, tasks)
    rng = np.random.default_rng(2)
    for task in sorted(set(range(len(tables.names))) - set(tables.named())):
        rows = tables.rows(task)
        curves = tables.curves[rows, : tables.table[task][2] + 1]
        said[rows] = invented(rng, targets(curves.astype(float)))
    return said


def tell(title: str, tables: Tables, said: FloatArray, tasks: Sequence[int]) -> None:
    """Rank correlations of opinions with ends, kind by kind."""
    for kind in dict.fromkeys(tables.labels.kinds[t] for t in tasks):
        mine = [t for t in tasks if tables.labels.kinds[t] == kind]
        found = [agreement(said[tables.rows(t), 0], tables, t) for t in mine]
        simple = [
            np.mean([agreement(closeness(tables.read(t)), tables, t) for t in mine])
            for closeness in (closeness_to_defaults, closeness_to_middle)
        ]
        values = " ".join(f"{value:.2f}" for value in found[:20])
        print(
            f"{title} {kind} mean {np.mean(found):.2f} (documented {simple[0]:.2f}, "
            f"middle {simple[1]:.2f}): {values}",
            flush=True,
        )


def agreement(scores: FloatArray, tables: Tables, task: int) -> float:
    """Rank correlation of scores with how the arms of a task end; 0 where all are alike."""
    ends = tables.curves[tables.rows(task), tables.table[task][2]]
    if np.ptp(scores) == 0 or np.ptp(ends) == 0:
        return 0.0
    return float(spearmanr(scores, ends)[0])


if __name__ == "__main__":
    main()
