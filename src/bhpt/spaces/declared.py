"""What each hyper-parameter of a space can be, in terms that every tuner knows."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bhpt.spaces.ranges import values_by_name

if TYPE_CHECKING:
    from bhpt.spaces.space import Space

_DECADES = 100  # times the least: numbers that span as much are taken to be on a logarithmic scale


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers between two ends.

    Attributes:
        low: The least.
        high: The largest.
        log: Whether equal factors matter equally, rather than equal differences.
        whole: Whether they are whole.
    """

    low: float
    high: float
    log: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Values:
    """Some values; a constant is one."""

    values: tuple[Any, ...]


def declared(space: "Space") -> dict[str, Numbers | Values]:
    """What each hyper-parameter of a space can be, in the space's order."""
    return {name: _declared(parameter) for name, parameter in space.parameters.items()}


def declared_by(configs: Iterable[Mapping[str, Any]]) -> dict[str, Numbers | Values]:
    """What each hyper-parameter of a list of configurations can be, by the values that occur."""
    return {name: _occurring(values) for name, values in values_by_name(configs).items()}


def _occurring(values: list[Any]) -> Numbers | Values:
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return Values(tuple({json.dumps(value): value for value in values}.values()))
    low, high = min(values), max(values)
    whole = all(isinstance(value, int) for value in values)
    return Numbers(float(low), float(high), low > 0 and high >= _DECADES * low, whole)


def _declared(parameter: Any) -> Numbers | Values:  # noqa: ANN401  # ConfigSpace's generic base
    import ConfigSpace  # takes half a second, and only declared spaces need it

    if isinstance(parameter, ConfigSpace.Constant):
        return _values([parameter.value])
    if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
        return _values(parameter.choices)
    if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
        return _values(parameter.sequence)
    whole = isinstance(parameter, ConfigSpace.hyperparameters.IntegerHyperparameter)
    scaled = (  # may be declared on a logarithmic scale
        ConfigSpace.UniformFloatHyperparameter,
        ConfigSpace.UniformIntegerHyperparameter,
        ConfigSpace.NormalFloatHyperparameter,
        ConfigSpace.NormalIntegerHyperparameter,
    )
    log = isinstance(parameter, scaled) and bool(parameter.log)
    return Numbers(float(parameter.lower), float(parameter.upper), log, whole)


def _values(found: Iterable[Any]) -> Values:
    return Values(tuple(one.item() if isinstance(one, np.generic) else one for one in found))
