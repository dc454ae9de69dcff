"""Search spaces: what a configuration is, how it becomes numbers, where new ones come from."""

from bhpt.spaces.configs import Config, plain_config
from bhpt.spaces.files import load_space
from bhpt.spaces.inferred_ranges import encode_configs
from bhpt.spaces.name_roles import ROLES, meanings
from bhpt.spaces.space import Space, parse_space

__all__ = [
    "ROLES",
    "Config",
    "Space",
    "encode_configs",
    "load_space",
    "meanings",
    "parse_space",
    "plain_config",
]
