"""`bhpt export`: a study as CSV, JSON or Parquet, to standard output or to a file."""

import csv
import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, get_args

import typer

from bhpt.cli.read_study import read_snapshot
from bhpt.domain import Misuse
from bhpt.storage import Address
from bhpt.study import State
from bhpt.study.tables import Table, TableName, as_json, table

_FORMATS = ("csv", "json", "parquet")


def export(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
    format_: Annotated[
        str, typer.Option("--format", help="csv, json or parquet.", metavar="FORMAT")
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option(help="A file; standard output if not given.", metavar="FILE")
    ] = None,
    rows: Annotated[
        str, typer.Option(help="csv and parquet: one row for each of epochs, arms or attempts.")
    ] = "epochs",
) -> None:
    """Write everything that was observed as a table, or all of a study as JSON."""
    if format_ not in _FORMATS:
        raise Misuse(f"--format {format_!r}: use csv, json or parquet")
    name = _table_name(rows)
    if format_ == "parquet" and out is None and sys.stdout.isatty():
        raise Misuse("parquet is not for a terminal: give --out FILE")
    if out is not None:
        _refuse_study(out, Address.parse(study))
    content = _written(read_snapshot(study).state, format_, name)
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        _replace(out, content)


def _table_name(text: str) -> TableName:
    for name in get_args(TableName):
        if text == name:
            found: TableName = name
            return found
    raise Misuse(f"--rows {text!r}: use epochs, arms or attempts")


def _written(state: State, format_: str, name: TableName) -> bytes:
    if format_ == "json":
        return (json.dumps(as_json(state), indent=1, allow_nan=False) + "\n").encode()
    found = table(state, name)
    return as_csv(found).encode() if format_ == "csv" else as_parquet(found)


def as_csv(found: Table) -> str:
    """A table with a header; lists and other odd values as JSON, nothing as an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, found.columns, lineterminator="\n")
    writer.writeheader()
    for row in found.rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def as_parquet(found: Table) -> bytes:
    """A table as Parquet; a column whose values differ in type is written as JSON text.

    Raises:
        Misuse: pyarrow is not installed.
    """
    try:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise Misuse("parquet needs pyarrow: pip install 'bhpt[parquet]'") from None
    columns = {}
    for name in found.columns:
        values = [row[name] for row in found.rows]
        kinds = {type(value) for value in values if value is not None}
        mixed = len(kinds) > 1 and kinds != {int, float}
        if mixed or kinds & {list, dict}:
            values = [None if value is None else json.dumps(value) for value in values]
        elif kinds == {int, float}:
            values = [value if value is None else float(str(value)) for value in values]
        columns[name] = values
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return "" if value is None else json.dumps(value)


def _refuse_study(out: Path, address: Address) -> None:
    if address.file is not None and out.resolve() == address.file.resolve():
        raise Misuse(f"--out {out} is the study itself: name another file")


def _replace(out: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(out)
    except OSError as error:
        with suppress(OSError):  # it may not have been created
            temporary.unlink()
        raise Misuse(f"cannot write {out}: {error.strerror}") from None
