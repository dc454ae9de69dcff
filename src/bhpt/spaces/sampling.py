"""Sample candidates from a space: evenly over all of it, or a step away from a good one.

Both work on ConfigSpace's vectors: numbers in [0, 1], categories and ranks as whole numbers,
NaN where inactive. Conditions and forbidden combinations are ConfigSpace's own.

Notation:
    N  candidates, P  hyper-parameters.
"""

from collections.abc import Iterator
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.exceptions import ForbiddenValueError
from ConfigSpace.util import deactivate_inactive_hyperparameters
from scipy.stats import qmc

from bhpt.domain import FloatArray
from bhpt.spaces.configs import Config, identity, plain_config

_ROUNDS = 8  # batches sampled before a space is taken to be exhausted
_STEP = (0.1, 0.3)  # how far a move goes, as a part of the range


def draw(
    space: ConfigSpace.ConfigurationSpace, count: int, rng: np.random.Generator
) -> list[Config]:
    """Up to `count` different configurations spread evenly over the space.

    A scrambled Sobol sequence fills the unit cube; a small finite space gives fewer.
    """
    found: dict[str, Config] = {}
    sobol = qmc.Sobol(max(len(space), 1), scramble=True, rng=rng)
    for _ in range(_ROUNDS):
        missing = count - len(found)
        if missing <= 0:
            break
        cube = sobol.random(2 ** int(np.ceil(np.log2(max(missing, 2)))))
        _keep_valid(space, _from_cube(space, cube, rng), found, count)
    return list(found.values())


def draw_near(
    space: ConfigSpace.ConfigurationSpace,
    good: Config,
    count: int,
    rng: np.random.Generator,
) -> list[Config]:
    """Up to `count` different configurations, each a step of a useful size away from a good one.

    Between one and half of the hyper-parameters change: numbers by a tenth to three tenths of
    their range, categories to another one.
    """
    found: dict[str, Config] = {}
    start = ConfigSpace.Configuration(space, values=good).get_array()
    fresh = _from_cube(space, rng.random((count, len(space))), rng)
    begin = np.where(np.isnan(start), fresh, start)
    _keep_valid(space, _move(space, begin, rng), found, count)
    found.pop(identity(good), None)
    return list(found.values())


def _from_cube(
    space: ConfigSpace.ConfigurationSpace, cube: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Vectors whose marginals follow each hyper-parameter's own distribution, [N, P]."""
    columns = [
        _quantiles(parameter, cube[:, place], rng) for place, parameter in enumerate(space.values())
    ]
    return np.column_stack(columns) if columns else np.zeros((len(cube), 0))


def _quantiles(parameter: Any, u: FloatArray, rng: np.random.Generator) -> FloatArray:  # noqa: ANN401  # ConfigSpace's generic base
    """The vector values of one hyper-parameter at the quantiles `u`, [N]."""
    if isinstance(parameter, ConfigSpace.UniformFloatHyperparameter):
        return u
    if isinstance(parameter, ConfigSpace.UniformIntegerHyperparameter):
        return _whole_quantiles(parameter, u)
    if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
        edges = np.cumsum(parameter.probabilities)
        return np.minimum(np.searchsorted(edges, u, "right"), len(edges) - 1).astype(float)
    if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
        ranks: FloatArray = np.floor(u * len(parameter.sequence))
        return ranks
    # a non-uniform distribution: its own samples, in the order of the quantiles
    state = np.random.RandomState(int(rng.integers(2**32)))  # ConfigSpace's type
    drawn = np.sort(np.asarray(parameter.sample_vector(size=len(u), seed=state), float))
    ordered: FloatArray = drawn[np.argsort(np.argsort(u, kind="stable"), kind="stable")]
    return ordered


def _whole_quantiles(
    parameter: ConfigSpace.UniformIntegerHyperparameter, u: FloatArray
) -> FloatArray:
    """Whole numbers with equal probability each, both ends included, [N]."""
    low, high = int(parameter.lower), int(parameter.upper)
    if parameter.log:
        values = np.exp(np.log(low) + u * (np.log(high + 1) - np.log(low)))
    else:
        values = low + u * (high + 1 - low)
    whole = np.clip(np.floor(values), low, high).astype(np.int64)
    vector: FloatArray = np.asarray(parameter.to_vector(whole), float)
    return vector


def _move(
    space: ConfigSpace.ConfigurationSpace, begin: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Move one to half of the entries of each vector, [N, P]."""
    rows, width = begin.shape
    movable = [place for place, parameter in enumerate(space.values()) if _can_move(parameter)]
    moved = begin.copy()
    if not movable:
        return moved
    most = max(1, len(movable) // 2)
    order = np.argsort(rng.random((rows, width))[:, movable], axis=1)
    changes = order < rng.integers(1, most + 1, size=(rows, 1))
    steps = rng.uniform(*_STEP, (rows, width)) * rng.choice((-1.0, 1.0), (rows, width))
    for column, place in enumerate(movable):
        chosen = changes[:, column]
        parameter = list(space.values())[place]
        moved[chosen, place] = _move_one(parameter, begin[chosen, place], steps[chosen, place])
    return moved


def _can_move(parameter: Any) -> bool:  # noqa: ANN401  # ConfigSpace's generic base
    """Whether a hyper-parameter has more than one value."""
    if isinstance(parameter, ConfigSpace.Constant):
        return False
    if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
        return len(parameter.choices) > 1
    if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
        return len(parameter.sequence) > 1
    return True


def _move_one(parameter: Any, begin: FloatArray, steps: FloatArray) -> FloatArray:  # noqa: ANN401  # ConfigSpace's generic base
    """One hyper-parameter moved by parts of its range, [N]."""
    if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
        count = len(parameter.choices)  # from -0.3..0.3 to any of the other categories
        onward = 1 + np.floor((np.abs(steps) - _STEP[0]) / (_STEP[1] - _STEP[0]) * (count - 1))
        return np.asarray((begin + np.minimum(onward, count - 1)) % count, float)
    if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
        last = len(parameter.sequence) - 1
        ranks = np.sign(steps) * np.maximum(1, np.round(np.abs(steps) * last))
        return _reflected(begin, ranks, float(last))
    shifted = _reflected(begin, steps, 1.0)
    if isinstance(parameter, ConfigSpace.hyperparameters.IntegerHyperparameter):
        shifted = np.asarray(parameter.to_vector(np.asarray(parameter.to_value(shifted))), float)
    return shifted


def _reflected(begin: FloatArray, steps: FloatArray, high: float) -> FloatArray:
    """The sum, in the other direction where it would leave the range from 0 to `high`."""
    outside = (begin + steps < 0) | (begin + steps > high)
    return np.clip(begin + np.where(outside, -steps, steps), 0.0, high)


def _keep_valid(
    space: ConfigSpace.ConfigurationSpace,
    vectors: FloatArray,
    found: dict[str, Config],
    enough: int,
) -> None:
    """Add the valid, new configurations among the vectors to `found`, up to a number."""
    for config in _valid(space, vectors):
        if len(found) >= enough:
            return
        found.setdefault(identity(config), config)


def _valid(space: ConfigSpace.ConfigurationSpace, vectors: FloatArray) -> Iterator[Config]:
    """Vectors as configurations: inactive values removed, forbidden combinations left out."""
    simple = not space.conditions and not space.forbidden_clauses
    for vector in vectors:
        values = dict(ConfigSpace.Configuration(space, vector=vector))
        if simple:
            yield plain_config(values)
            continue
        try:
            yield plain_config(dict(deactivate_inactive_hyperparameters(values, space)))
        except ForbiddenValueError:
            continue
