"""Lengths of time as people write and read them."""

import re

_SPAN = re.compile(r"(?P<amount>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[a-z]+)\s*", re.IGNORECASE)
_UNITS = {
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
}


def parse_span(text: str) -> float | None:
    """The seconds of "1h30m", "90 s" or "2 days"; None if it is not a span of time.

    Each unit at most once, the larger first.
    """
    total, place, last = 0.0, 0, float("inf")
    while found := _SPAN.match(text, place):
        size = _UNITS.get(found["unit"].lower())
        if size is None or size >= last:
            return None
        total, place, last = total + float(found["amount"]) * size, found.end(), size
    return total if place and place == len(text) else None


def span_text(seconds: float) -> str:
    """Seconds as 1h30m or 90s, which `parse_span` reads."""
    whole = round(seconds)
    if whole != seconds and seconds < 600:
        return f"{seconds:.4g}s"
    parts = [(whole // 3600, "h"), (whole // 60 % 60, "m"), (whole % 60, "s")]
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def duration(seconds: float) -> str:
    """Seconds as 0:42 or 1:02:03."""
    whole = int(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours}:{minutes % 60:02d}:{whole % 60:02d}"
    return f"{minutes}:{whole % 60:02d}"
