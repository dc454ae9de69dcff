"""How numbers are written in amounts."""

NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
"""A pattern without groups; the sign is read so that it can be refused in words."""
