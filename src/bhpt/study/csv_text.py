"""A table as CSV that every spreadsheet can open and none computes."""

import csv
import io
import json

from bhpt.study.tables import Table

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # what spreadsheets begin to compute at


def as_csv(found: Table) -> str:
    """A table with a header; lists and other odd values as JSON, nothing as an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_plain(name) for name in found.columns])
    for row in found.rows:
        writer.writerow([_cell(row[name]) for name in found.columns])
    return text.getvalue()


def _plain(text: str) -> str:
    """A text that no spreadsheet takes for a formula, and that every encoding can hold.

    What begins like a formula gets an apostrophe in front, unless it is a number.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    if not text.startswith(_FORMULAS):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _cell(value: object) -> object:
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return "" if value is None else _plain(json.dumps(value))
