"""Search spaces: configurations, their encodings, sampling of new ones."""

from bhpt.spaces.configs import Config, plain_config
from bhpt.spaces.files import load_configs, load_space
from bhpt.spaces.inferred_ranges import encode_configs
from bhpt.spaces.name_roles import ROLES, encode_roles
from bhpt.spaces.space import Space, parse_space
from bhpt.spaces.spread import NEAR

__all__ = [
    "NEAR",
    "ROLES",
    "Config",
    "Space",
    "encode_configs",
    "encode_roles",
    "load_configs",
    "load_space",
    "parse_space",
    "plain_config",
]
