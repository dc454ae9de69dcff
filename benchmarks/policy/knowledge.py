"""Train what is known of hyper-parameters by their names, and ask it about every arm of the pool.

Supervised: small networks are told what the names of a configuration mean and learn which rank
its training ended at among the others of its task. The policy must learn how far to trust them
on tasks that they have not seen; so each task of the pool is judged by networks that were trained
without it. For tasks without names opinions are invented, good and bad ones, and none.

Notation:
    N  rows of the pool, K  arms of a batch, E  networks, M  roles
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import rankdata, spearmanr

from benchmarks.policy.adam import Moments, adam, still
from benchmarks.policy.options import add_leave_out
from benchmarks.policy.pool import read_labels
from bhpt.beliefs.learned.features import OPINIONS, Array
from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.network import Weights
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import ROLES

NETWORKS = 4
TOLD = OPINIONS - 1  # what a network says; how far they are apart is the last opinion
HIDDEN = 40
FOLDS = 6
BATCH = 100  # arms of one task
TASKS = 24  # in a batch
# how often a batch takes a task of each suite, relative to the others in the pool
SHARES = {"lcbench": 0.35, "taskset": 0.2, "tables": 0.1, "nets": 0.35, "others": 0.5}
SPARED = 0.15  # chance that a role is kept from a batch in which some are


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
    told, keys = 2 * len(ROLES), jax.random.split(key, 3)
    sizes = {
        "names_input": (told, HIDDEN),
        "names_hidden": (HIDDEN, HIDDEN),
        "names_output": (HIDDEN, TOLD),
    }
    weights: dict[str, Array] = {}
    for k, (name, (a, b)) in zip(keys, sizes.items(), strict=True):
        weights[name] = jax.random.normal(k, (NETWORKS, a, b)) * np.sqrt(1.0 / a)
        weights[f"{name}_bias"] = jnp.zeros((NETWORKS, b))
    weights["names_output"] = 0.1 * weights["names_output"]
    return weights


@jax.jit
def improve(
    weights: Weights, moments: Moments, told: Array, target: Array, key: Array, rate: Array
) -> tuple[Weights, Moments, Array]:
    """One step of Adam on a batch of tasks, [TASKS, BATCH, ..]."""
    some, which, noise = jax.random.split(key, 3)
    few = jax.random.uniform(some, (len(told), 1, 1)) < 0.5
    gone = jax.random.uniform(which, (len(told), 1, told.shape[2])) < SPARED
    told = jnp.where(few & gone, jnp.nan, told)
    told = told + 0.05 * jax.random.normal(noise, told.shape)

    def loss(weights: Weights) -> Array:
        each = [jax.tree.map(lambda w, e=e: w[e : e + 1], weights) for e in range(NETWORKS)]
        total = 0.0
        for one in each:
            said = jax.vmap(partial(opinions, jnp, one))(told)
            total = total + ((said[:, :, :TOLD] - target) ** 2).mean()
        return total + 2e-5 * sum((w**2).sum() for w in jax.tree.leaves(weights)) / NETWORKS

    value, grads = jax.value_and_grad(loss)(weights)
    return *adam(weights, moments, grads, rate), value


class Tables:
    """The named tasks of the pool: rows, targets, suites."""

    def __init__(self, pool: str) -> None:
        """Read them."""
        with np.load(pool) as file:
            self.table, self.meanings = file["table"], file["meanings"]
            self.curves = file["curves"]
        self.labels = read_labels(Path(pool))
        self.names, self.suites = self.labels.names, self.labels.suites
        self.target = np.zeros((len(self.curves), TOLD), np.float32)
        for task in range(len(self.names)):
            rows, units = self.rows(task), self.table[task][2]
            self.target[rows] = targets(self.curves[rows, : units + 1].astype(float))

    def rows(self, task: int) -> IntArray:
        """Where a task's arms are."""
        first, count = self.table[task][:2]
        return np.arange(first, first + count)

    def named(self) -> list[int]:
        """Tasks whose configurations have a name that is known."""
        tasks = range(len(self.names))
        return [t for t in tasks if np.isfinite(self.meanings[self.rows(t)]).any()]

    def batches(self, tasks: Sequence[int], rng: np.random.Generator) -> Iterator[IntArray]:
        """Rows of some arms of some tasks, for ever, [TASKS, BATCH]."""
        asked = {*tasks}
        shares = self.labels.shares(SHARES, [t in asked for t in range(len(self.names))])
        while True:
            chosen = rng.choice(len(shares), TASKS, p=shares)
            yield np.stack([rng.choice(self.rows(task), BATCH) for task in chosen])


def train(tables: Tables, tasks: Sequence[int], steps: int, seed: int) -> Weights:
    """Networks that have seen these tasks alone."""
    rng = np.random.default_rng(seed)
    key = jax.random.PRNGKey(seed)
    weights = start(key)
    moments = still(weights)
    batches = tables.batches(tasks, rng)
    for step in range(steps):
        key, mine = jax.random.split(key)
        rows = next(batches)
        rate = 3e-3 * (0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * step / steps)))
        weights, moments, _ = improve(
            weights, moments, tables.meanings[rows], tables.target[rows], mine, rate
        )
    return weights


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


def ask(weights: Weights, meanings: FloatArray) -> FloatArray:
    """Opinions about configurations."""
    return np.asarray(opinions(jnp, weights, jnp.asarray(meanings)))


def folds(tables: Tables, tasks: Sequence[int], by: str) -> list[list[int]]:
    """The tasks in parts, each of which is judged by networks that have seen the others alone.

    Args:
        tables: The pool.
        tasks: Those that are learned from.
        by: `task` parts them by chance, `kind` keeps all tasks of a kind together.
    """
    labels = [tables.labels.kinds[t] if by == "kind" else tables.names[t] for t in tasks]
    each = list(dict.fromkeys(labels))
    count = min(FOLDS, len(each))
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
        "--out", required=True, help="file of the weights and of opinions about the pool, .npz"
    )
    add_leave_out(made)
    made.add_argument(
        "--fold-by",
        choices=("task", "kind", "both"),
        default="both",
        help="judge each task by networks that have not seen it, have not seen its kind, or both",
    )
    made.add_argument("--steps", type=int, default=3000)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Train without each part of the tasks in turn, then with all of them."""
    options = parser().parse_args(arguments)
    tables = Tables(options.pool)
    kept = tables.labels.chosen(options.leave_out, options.leave_out_kind)
    tasks = [t for t in tables.named() if tables.names[t] not in kept]
    weights = train(tables, tasks, options.steps, 0)
    ways = ("task", "kind") if options.fold_by == "both" else (options.fold_by,)
    said = np.stack([crossed(tables, tasks, weights, by, options.steps) for by in ways])
    tell("left out", tables, said[0], [t for t in tables.named() if tables.names[t] in kept])
    np.savez_compressed(options.out, opinions=said.astype(np.float16), **weights)


def crossed(
    tables: Tables, tasks: Sequence[int], weights: Weights, by: str, steps: int
) -> FloatArray:
    """Opinions about all arms of the pool, each by networks that have not seen its task or kind.

    Args:
        tables: The pool.
        tasks: Those that may be learned from.
        weights: Networks that have seen all of these; they judge the tasks that are left out.
        by: `task` or `kind`, see `folds`.
        steps: Of training each fold's networks.

    Returns:
        One row an arm, [rows, OPINIONS].
    """
    said = np.zeros((len(tables.curves), OPINIONS), np.float32)
    for task in tables.named():  # those left out are judged as they will be in earnest
        said[tables.rows(task)] = ask(weights, tables.meanings[tables.rows(task)])
    parts = folds(tables, tasks, by)
    for fold, part in enumerate(parts):
        blind = train(tables, [t for t in tasks if t not in part], steps, fold)
        for task in part:
            said[tables.rows(task)] = ask(blind, tables.meanings[tables.rows(task)])
        print(f"by {by}: fold {fold + 1} of {len(parts)}", flush=True)
    tell(f"by {by}", tables, said, tasks)
    rng = np.random.default_rng(2)
    for task in sorted(set(range(len(tables.names))) - set(tables.named())):
        said[tables.rows(task)] = invented(rng, tables.target[tables.rows(task)])
    return said


def tell(title: str, tables: Tables, said: FloatArray, tasks: Sequence[int]) -> None:
    """Rank correlations of opinions with ends, kind by kind."""
    for kind in dict.fromkeys(tables.labels.kinds[t] for t in tasks):
        mine = [t for t in tasks if tables.labels.kinds[t] == kind]
        found = [
            spearmanr(said[tables.rows(t), 0], tables.target[tables.rows(t), 0])[0] for t in mine
        ]
        values = " ".join(f"{value:.2f}" for value in found[:20])
        print(f"{title} {kind} mean {np.nanmean(found):.2f}: {values}", flush=True)


if __name__ == "__main__":
    main()
