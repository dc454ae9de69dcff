"""Search spaces: what a configuration is, and how it becomes numbers."""

from bhpt.spaces.inferred import encode_configs

__all__ = ["encode_configs"]
