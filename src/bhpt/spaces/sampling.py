"""Sample candidates from a space: evenly over all of it, or near good configurations.

Both work on ConfigSpace's vectors: numbers in [0, 1], categories and ranks as whole numbers,
NaN where inactive. Conditions and forbidden combinations are ConfigSpace's own.

Notation:
    N  candidates, P  hyper-parameters.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.exceptions import ForbiddenValueError
from ConfigSpace.util import deactivate_inactive_hyperparameters
from scipy.stats import qmc

from bhpt.domain import FloatArray
from bhpt.spaces.configs import Config, identity, plain_config

_ROUNDS = 8  # batches sampled before a space is taken to be exhausted
_STEPS = (0.02, 0.06, 0.2)  # spread of a move, as a part of the range
_SWITCH = 0.25  # how often a move changes a category


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
    good: Sequence[Config],
    count: int,
    rng: np.random.Generator,
) -> list[Config]:
    """Up to `count` new configurations, each a small move away from one of the good ones."""
    known = {identity(config): config for config in good}
    found = dict(known)
    starts = np.array(
        [ConfigSpace.Configuration(space, values=config).get_array() for config in good]
    )
    for _ in range(_ROUNDS):
        missing = count + len(known) - len(found)
        if missing <= 0:
            break
        fresh = _from_cube(space, rng.random((missing, len(space))), rng)
        begin = starts[rng.integers(len(good), size=missing)]
        moved = _move(space, np.where(np.isnan(begin), fresh, begin), fresh, rng)
        _keep_valid(space, moved, found, count + len(known))
    return [config for name, config in found.items() if name not in known]


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
    space: ConfigSpace.ConfigurationSpace,
    begin: FloatArray,
    fresh: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Perturb vectors: numbers shift, categories switch at random, at least one entry changes."""
    rows, width = begin.shape
    moves = rng.random((rows, width)) < 0.5
    moves[np.arange(rows), rng.integers(width, size=rows)] = True
    spread = rng.choice(_STEPS, size=(rows, 1)) * rng.standard_normal((rows, width))
    moved = begin.copy()
    for place, parameter in enumerate(space.values()):
        chosen = moves[:, place]
        moved[chosen, place] = _move_one(
            parameter, begin[chosen, place], fresh[chosen, place], spread[chosen, place], rng
        )
    return moved


def _move_one(
    parameter: Any,  # noqa: ANN401  # ConfigSpace's generic base
    begin: FloatArray,
    fresh: FloatArray,
    spread: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """A small move of one hyper-parameter, [N]."""
    if isinstance(parameter, ConfigSpace.Constant):
        return begin
    if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
        return np.where(rng.random(len(begin)) < _SWITCH, fresh, begin)
    if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
        last = len(parameter.sequence) - 1
        return np.clip(begin + np.where(spread < 0, -1, 1), 0, last)
    shifted = np.abs(begin + spread)
    shifted = np.clip(np.where(shifted > 1, 2 - shifted, shifted), 0.0, 1.0)
    if isinstance(parameter, ConfigSpace.hyperparameters.IntegerHyperparameter):
        shifted = np.asarray(parameter.to_vector(np.asarray(parameter.to_value(shifted))), float)
    return shifted


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
