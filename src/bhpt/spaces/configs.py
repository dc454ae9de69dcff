"""A configuration: hyper-parameter names and plain values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bhpt.domain import Misuse

Config = dict[str, Any]
"""Names and JSON values of one arm's hyper-parameters."""


def plain_config(config: Mapping[str, object]) -> Config:
    """The configuration as it will be read back from a study: JSON values only.

    A trainer must see the same values in its first session and after a resume, so numpy scalars
    and tuples become plain numbers and lists before anything is run.

    Raises:
        Misuse: If a value has no JSON form.
    """
    if not isinstance(config, Mapping):
        raise Misuse(f"a configuration is a dictionary of hyper-parameters, not {config!r:.80}")
    try:
        text = json.dumps(dict(config), default=_plain_value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Misuse(
            f"configuration {dict(config)!r:.80} cannot be stored ({error}); "
            "use finite numbers, text, true/false, None, or lists of them"
        ) from None
    plain: Config = json.loads(text)
    return plain


def plain_configs(configs: Sequence[Mapping[str, object]]) -> list[Config]:
    """`plain_config` of every configuration of a list.

    Raises:
        Misuse: If the list is empty or a value has no JSON form.
    """
    if not configs:
        raise Misuse("no configurations: give at least one dictionary of hyper-parameters")
    return [plain_config(config) for config in configs]


def identity(config: Config) -> str:
    """Canonical JSON text: equal for two configurations if and only if they are equal."""
    return json.dumps(config, sort_keys=True)


def _plain_value(value: object) -> object:
    """Convert a numpy value to a plain one, for `json.dumps`."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__}")
