"""Counts in words."""


def counted(count: int, thing: str) -> str:
    """Such as `1 unit` and `2 units`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"
