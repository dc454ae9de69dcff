"""Search spaces: configurations, their encodings, sampling of new ones."""

from bhpt.spaces.configs import Config, plain_config
from bhpt.spaces.files import load_space
from bhpt.spaces.inferred_ranges import encode_configs
from bhpt.spaces.ranges import infer_ranges
from bhpt.spaces.space import Space, parse_space
from bhpt.spaces.tokens import encode_tokens

__all__ = [
    "Config",
    "Space",
    "encode_configs",
    "encode_tokens",
    "infer_ranges",
    "load_space",
    "parse_space",
    "plain_config",
]
