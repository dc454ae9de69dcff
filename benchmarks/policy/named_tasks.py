"""The named tasks of a pool, and how training on a device draws their arms and tells their names.

The networks that read names and the finisher are trained on them. Batches are drawn where the
networks are: made on the host they keep a GPU waiting. Names are spelled otherwise or replaced by
ones that mean nothing, and hyper-parameters and documented defaults left out, so that nothing is
learned by heart.

Notation:
    N  hyper-parameters, R  arms that are drawn
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.policy.pool import NAMES, OF_VALUES, read_labels
from benchmarks.policy.respelling import SPELLINGS, spellings
from bhpt.beliefs.learned.array_types import Array
from bhpt.domain import FloatArray, IntArray, Misuse
from bhpt.spaces.tokens import COLUMNS, NAME_HASH, column, hashed_name

# how often a batch takes a task of each suite, relative to the others in the pool
SHARES = {"lcbench": 0.45, "taskset": 0.4, "tables": 0.1, "nets": 0.35, "others": 1.5}
ROWS = 256  # arms of a task that some are drawn from at most: any such part of a larger one
UNDOCUMENTED = 0.3  # chance that no default is known
SPARED = 0.12  # chance that a hyper-parameter is kept from a task where some are
DEFAULT = (column("has_default"), column("from_default"), column("from_default_squared"))
"""Where a token tells of a documented default."""


class NamedTasks(NamedTuple):
    """The tasks.

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


class Tables:
    """The tasks of a pool by name, kind and suite, on the host."""

    def __init__(self, pool: str) -> None:
        """Read them.

        Raises:
            Misuse: The pool has no tokens.
        """
        with np.load(pool) as file:
            if "tokens" not in file:
                raise Misuse(f"{pool} has no tokens: pack it anew with benchmarks.policy.pool")
            self.table, self.tokens = file["table"], file["tokens"]
            self.curves, spoken = file["curves"], file["hyperparameters"]
        self.labels = read_labels(Path(pool))
        self.names, self.suites = self.labels.names, self.labels.suites
        self.spoken = [[str(name) for name in row if name] for row in spoken]

    def rows(self, task: int) -> IntArray:
        """Where a task's arms are."""
        first, count = self.table[task][:2]
        return np.arange(first, first + count)

    def named(self) -> list[int]:
        """Tasks whose hyper-parameters have names."""
        return [t for t, names in enumerate(self.spoken) if names]

    def named_without(self, left_out: Sequence[str]) -> list[int]:
        """The named tasks but those that are left out, by their names."""
        kept = {*left_out}
        return [t for t in self.named() if self.names[t] not in kept]

    def read(self, task: int) -> FloatArray:
        """Tokens of all arms of a task as they are in earnest, [K, N, F]."""
        found = np.zeros((self.table[task][1], NAMES, COLUMNS), np.float32)
        found[:, :, :OF_VALUES] = self.tokens[self.rows(task)]
        for at, name in enumerate(self.spoken[task]):
            found[:, at, OF_VALUES:] = hashed_name(name)
        return found * found[:, :, :1]

    def on_device(self, tasks: Sequence[int]) -> NamedTasks:
        """The pool as training wants it; these tasks alone are drawn, by `SHARES`."""
        distinct = sorted({name for row in self.spoken for name in row})
        place = {name: number for number, name in enumerate(distinct)}
        called = np.full((len(self.spoken), NAMES), -1)
        for task, row in enumerate(self.spoken):
            called[task, : len(row)] = [place[name] for name in row]
        asked = {*tasks}
        shares = self.labels.shares(SHARES, [t in asked for t in range(len(self.names))])
        return NamedTasks(
            jnp.asarray(self.curves),
            jnp.asarray(self.tokens),
            jnp.asarray(self.table[:, :3], jnp.int32),
            jnp.asarray(called, jnp.int32),
            jnp.asarray(spellings(distinct, np.random.default_rng(3)), jnp.float32),
            jnp.asarray(shares, jnp.float32),
        )


def drawn_tasks(tasks: NamedTasks, key: Array, count: int) -> Array:
    """Tasks by their shares, [count]."""
    up_to = jnp.cumsum(tasks.shares)
    return jnp.searchsorted(up_to, up_to[-1] * jax.random.uniform(key, (count,)), side="right")


def window(tasks: NamedTasks, key: Array, task: Array) -> tuple[Array, Array]:
    """The first row of the part of a task that arms are drawn from, and how many rows it has."""
    first, count = tasks.table[task, 0], tasks.table[task, 1]
    later = jax.random.randint(key, (), 0, jnp.maximum(count - ROWS, 0) + 1)
    return first + later, jnp.minimum(count, ROWS)


def some_of(key: Array, allowed: Array, count: int) -> Array:
    """Places of `count` of the allowed arms, by chance; some again where fewer are allowed.

    Args:
        key: Of random numbers.
        allowed: Whether an arm may be drawn, [ROWS]; at least one may.
        count: How many.
    """
    order = jax.random.uniform(key, allowed.shape) + 10.0 * ~allowed
    places = jax.lax.top_k(-order, count)[1]
    return places[jnp.arange(count) % jnp.minimum(allowed.sum(), count)]


def told(
    tasks: NamedTasks, key: Array, task: Array, values: Array, meaningless: float
) -> tuple[Array, Array]:
    """Tokens and names of some arms of a task told in another way.

    Args:
        tasks: The pool.
        key: Of random numbers.
        task: Which.
        values: Tokens of the arms without names, [R, N, OF_VALUES].
        meaningless: Chance that no name means anything.

    Returns:
        The tokens, [R, N, OF_VALUES], and the names, [N, NAME_HASH].
    """
    keys = jax.random.split(key, 6)
    spelled = jax.random.randint(keys[0], (NAMES,), 0, SPELLINGS)
    names = tasks.hashes[jnp.maximum(tasks.called[task], 0), spelled]
    noise = jax.random.normal(keys[1], (NAMES, NAME_HASH))
    noise = noise / jnp.sqrt((noise**2).sum(axis=1, keepdims=True))
    nameless = jax.random.uniform(keys[2]) < meaningless
    unknown = nameless | (jax.random.uniform(keys[3]) < UNDOCUMENTED)
    values = values.at[:, :, jnp.array(DEFAULT)].multiply(1.0 - unknown)
    spared = jax.random.uniform(keys[4], (NAMES,)) < SPARED
    spared = spared & (jax.random.uniform(keys[5]) < 0.5)
    values = values * (1.0 - spared)[None, :, None]
    return _present(tasks, task, values, jnp.where(nameless, noise, names))


def told_plainly(tasks: NamedTasks, task: Array, values: Array) -> tuple[Array, Array]:
    """Tokens and names of some arms of a task as they are in earnest; see `told`."""
    return _present(tasks, task, values, tasks.hashes[jnp.maximum(tasks.called[task], 0), 0])


def _present(tasks: NamedTasks, task: Array, values: Array, names: Array) -> tuple[Array, Array]:
    """Without what is absent."""
    return values * values[:, :, :1], names * (tasks.called[task] >= 0)[:, None]
