"""Programs that train all arms of a table at once: one unit, then a measurement, at each call.

Every step shows `micro` examples to all arms, the same to each. An arm whose batches are larger
gathers gradients over several steps, so that all arms see the same number of examples in a unit.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from .arms import Arm, stack
from .data import HELD, OUTPUTS, ROWS, Examples
from .models import FAMILIES, Family, Task, draw_noise, start
from .optimise import Progress, advance, begin, rate
from .space import LONGEST, Plan

Array = Any
Program = Any  # a function that JAX has compiled, or will
_Shape: Any = jax.ShapeDtypeStruct
CHUNK = 4  # steps between two looks at whether the unit is over
PART = 256  # examples that are measured at once


class Data(NamedTuple):
    """Examples on the device; see `data.Examples`."""

    x: Array
    targets: Array
    held_x: Array
    held_targets: Array
    task: Task


class Unit(NamedTuple):
    """Which unit is to be trained: its number, steps of a unit (0: only measure), all units."""

    number: Array
    steps: Array
    units: Array


def program(family: Family, micro: int) -> Program:
    """One unit of all arms as a jitted function.

    It takes progress and arms (both [A, ...]), data, the order of examples [LONGEST, micro], a
    random key and the unit; it returns the progress and the measured losses, [2, A].
    """

    def unit(
        progress: Progress, arms: Arm, data: Data, order: Array, key: Array, at: Unit
    ) -> tuple[Progress, Array]:
        first = at.number * at.steps

        def step(progress: Progress, number: Array) -> tuple[Progress, None]:
            chosen = order[number]
            noise = draw_noise(family, jax.random.fold_in(key, number), micro)
            slopes = jax.vmap(jax.grad(family.loss), (0, 0, None, None, None, None))(
                progress.weights, arms, data.x[chosen], data.targets[chosen], data.task, noise
            )
            sizes = jax.vmap(rate, (0, None, None))(arms, number / at.steps, at.units)
            new = jax.vmap(advance, (0, 0, 0, None, 0))(progress, arms, slopes, number, sizes)
            return new, None

        def chunk(number: Array, progress: Progress) -> Progress:
            numbers = first + number * CHUNK + jnp.arange(CHUNK)
            return jax.lax.scan(step, progress, numbers)[0]

        progress = jax.lax.fori_loop(0, at.steps // CHUNK, chunk, progress)
        return progress, measured(family, progress, arms, data)

    return jax.jit(unit, donate_argnums=0)


def measured(family: Family, progress: Progress, arms: Arm, data: Data) -> Array:
    """Losses and error rates on the held-out examples, [2, A], without any noise in training."""
    quiet = arms._replace(drop=jnp.zeros_like(arms.drop), noise=jnp.zeros_like(arms.noise))

    def part(number: Array) -> Array:
        here = number * PART + jnp.arange(PART)
        noise = draw_noise(family, jax.random.fold_in(jax.random.PRNGKey(7), number), PART)
        both = jax.vmap(family.measure, (0, 0, None, None, None, None))(
            progress.weights, quiet, data.held_x[here], data.held_targets[here], data.task, noise
        )
        return jnp.stack(both)

    return jax.lax.map(part, jnp.arange(HELD // PART)).mean(axis=0)


def shapes(family: Family, micro: int, arms: int) -> tuple[Any, ...]:
    """What a program is compiled for, as arrays without contents."""
    weights = {}
    for name, (rows, columns) in family.shapes.items():
        weights[name] = _Shape((arms, rows, columns), jnp.float32)
        weights[f"{name}_bias"] = _Shape((arms, columns), jnp.float32)
    counts = _Shape((arms,), jnp.float32)
    like = [_Shape((arms, *a.shape[1:]), a.dtype) for a in stack([{}])]

    def floats(*shape: int) -> Array:
        return _Shape(shape, jnp.float32)

    whole = _Shape((), jnp.int32)
    data = Data(
        floats(ROWS, family.features),
        floats(ROWS, OUTPUTS),
        floats(HELD, family.features),
        floats(HELD, OUTPUTS),
        Task(floats(OUTPUTS), floats()),
    )
    order = _Shape((LONGEST, micro), jnp.int32)
    key = _Shape((2,), jnp.uint32)
    progress = Progress(weights, weights, weights, weights, counts)
    return progress, Arm(*like), data, order, key, Unit(whole, whole, whole)


def compiled(family: str, micro: int, arms: int) -> Program:
    """A program ready to run, for so many arms."""
    kind = FAMILIES[family]
    return program(kind, micro).lower(*shapes(kind, micro, arms)).compile()


def on_device(examples: Examples) -> Data:
    """Copies examples to the device."""
    exists = (np.arange(OUTPUTS) < examples.outputs).astype(np.float32)
    task = Task(jnp.asarray(exists), jnp.asarray(1.0 * examples.values, jnp.float32))
    return Data(
        jnp.asarray(examples.x),
        jnp.asarray(examples.targets),
        jnp.asarray(examples.held_x),
        jnp.asarray(examples.held_targets),
        task,
    )


def shuffled(rng: np.random.Generator, count: int, steps: int, micro: int) -> NDArray[np.int32]:
    """Examples of each step, [LONGEST, micro]: all of them once, in a new order, and so on."""
    rounds = -(-steps * micro // count)
    order = np.concatenate([rng.permutation(count) for _ in range(rounds)])
    padded = np.zeros((LONGEST, micro), np.int32)
    padded[:steps] = order[: steps * micro].reshape(steps, micro)
    return padded


class Ready(NamedTuple):
    """A table on the device, before its first unit: what a program takes, less the unit."""

    progress: Progress
    arms: Arm
    data: Data
    order: Array
    key: Array


def prepare(plan: Plan, examples: Examples, arms: int) -> Ready:
    """Draws weights and order of examples and copies all to the device.

    Args:
        plan: The table.
        examples: Its data.
        arms: For how many arms programs are compiled; missing ones are filled up with the first.
    """
    rng = np.random.default_rng((*plan.seed, 2))
    missing = arms - len(plan.settings)
    rows = stack([*plan.settings, *plan.settings[:1] * missing])
    weights = start(rng, FAMILIES[plan.family], rows, plan.same_start)
    order = shuffled(rng, examples.count, plan.units * plan.steps, plan.micro)
    return Ready(
        begin(weights, arms),
        Arm(*(jnp.asarray(a) for a in rows)),
        on_device(examples),
        jnp.asarray(order),
        jax.random.PRNGKey(int(rng.integers(2**31))),
    )


def train(plan: Plan, ready: Ready, unit: Program) -> NDArray[np.float32]:
    """Losses of all arms of a table after each unit, [K, T + 1]; NaN where training failed.

    Args:
        plan: The table.
        ready: What `prepare` made of it; it can be used only once.
        unit: What `compiled` made for its family.
    """
    progress = ready.progress
    columns = []
    for number in range(-1, plan.units):
        steps = plan.steps if number >= 0 else 0
        at = Unit(*(jnp.asarray(n, jnp.int32) for n in (max(number, 0), steps, plan.units)))
        progress, both = unit(progress, *ready[1:], at)
        columns.append(both)
    table = np.asarray(jnp.stack(columns, axis=-1))[1 if plan.second else 0]
    table = table[: len(plan.settings)].astype(np.float32)
    lost = np.logical_or.accumulate(~np.isfinite(table), axis=1)  # none comes back
    return np.where(lost, np.nan, table).astype(np.float32)
