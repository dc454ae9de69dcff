"""Search spaces: configurations, their encodings, sampling of new ones.

What needs ConfigSpace is imported when it is first used: reading a study does not.
"""

from typing import TYPE_CHECKING

from bhpt.lazy_names import lazy_names
from bhpt.spaces.configs import Config, plain_config
from bhpt.spaces.list_encoding import encode_configs
from bhpt.spaces.near_copies import NEAR
from bhpt.spaces.ranges import infer_ranges
from bhpt.spaces.tokens import encode_tokens

if TYPE_CHECKING:
    from bhpt.spaces.files import load_configs, load_space
    from bhpt.spaces.space import Space, parse_space

__all__ = [
    "NEAR",
    "Config",
    "Space",
    "encode_configs",
    "encode_tokens",
    "infer_ranges",
    "load_configs",
    "load_space",
    "parse_space",
    "plain_config",
]

_HOMES = {
    "Space": "bhpt.spaces.space",
    "load_configs": "bhpt.spaces.files",
    "load_space": "bhpt.spaces.files",
    "parse_space": "bhpt.spaces.space",
}


if not TYPE_CHECKING:  # hidden from type checkers, which then find names that do not exist
    __getattr__ = lazy_names(__name__, _HOMES)
