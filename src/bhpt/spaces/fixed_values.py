"""Hyper-parameters that are fixed to a value, in any kind of search space."""

import json
from collections.abc import Mapping
from typing import Any

from bhpt.domain import Misuse
from bhpt.spaces.configs import Config, plain_config
from bhpt.spaces.space import Space


def fix(space: Space | list[Config], values: Mapping[str, object]) -> Space | list[Config]:
    """The space with some hyper-parameters fixed: constants, or the listed ones that have them.

    Raises:
        Misuse: There is no such hyper-parameter, or the value does not lie in its range, or no
            listed configuration has it.
    """
    wanted = plain_config(values)
    if not wanted:
        return space
    if isinstance(space, Space):
        return _fix_ranges(space, wanted)
    kept = [one for one in space if all(one.get(name) == wanted[name] for name in wanted)]
    if not kept:
        raise Misuse(f"no listed configuration has {wanted!r:.80}: change `fixed` or the list")
    return kept


def _fix_ranges(space: Space, wanted: Config) -> Space:
    """A constant in place of each fixed range; conditions on it stay."""
    space.check_names(wanted, "fixed")
    described: dict[str, Any] = json.loads(space.text)
    for at, parameter in enumerate(described["hyperparameters"]):
        name = parameter["name"]
        if name in wanted:
            space.check_value(name, wanted[name])
            described["hyperparameters"][at] = {
                "type": "constant",
                "name": name,
                "value": wanted[name],
                "meta": None,
            }
    return Space.from_serialized(described)
