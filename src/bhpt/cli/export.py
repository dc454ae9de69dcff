"""`bhpt export`: a study as CSV, JSON or Parquet, to standard output or to a file.

Or as an archive: one safe copy of all of it, to go on with elsewhere.
"""

import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, get_args

import typer

from bhpt.domain import Misuse
from bhpt.storage import Address, read_store
from bhpt.study import State
from bhpt.study.csv_text import as_csv
from bhpt.study.tables import Table, TableName, as_json, table
from bhpt.views.formatting import printable, to_stderr

_FORMATS = ("csv", "json", "parquet", "archive")
_ENDINGS = {
    "": "csv",
    ".csv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".parquet": "parquet",
    ".tar": "archive",
}


def export(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, json, parquet or archive; by the file's ending, or csv, if not given.",
            metavar="FORMAT",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A file; standard output if not given.", metavar="FILE")
    ] = None,
    rows: Annotated[
        str, typer.Option(help="csv and parquet: one row for each of epochs, arms or attempts.")
    ] = "epochs",
) -> None:
    """Write all that was observed as a table, or a whole study."""
    if out is not None:
        refuse_study(out, Address.parse(study))
    chosen = _format_of(out) if format_ is None else format_
    if chosen not in _FORMATS:
        raise Misuse(f"--format {chosen!r}: use csv, json, parquet or archive")
    name = _table_name(rows)
    if chosen == "parquet" and out is None and sys.stdout.isatty():
        raise Misuse("parquet is not for a terminal: give --out FILE")
    if chosen == "archive":
        _archive(study, out)
        return
    with read_store(study) as reader:
        content = _written(reader.folded().state, chosen, name)
    if out is None:
        if sys.stdout.isatty():
            content = printable(content.decode()).encode()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_whole(out, lambda file: _write(file, content))
        to_stderr(f"wrote {out}")


def _format_of(out: Path | None) -> str:
    """The format that a file's ending names; csv without an ending.

    Raises:
        Misuse: The ending is that of another format: the file would not be what it says.
    """
    ending = "" if out is None else out.suffix.lower()
    if ending not in _ENDINGS:
        raise Misuse(
            f"--out {out}: no format ends in {ending!r}: use .csv, .json, .parquet or .tar, or say "
            "--format"
        )
    return _ENDINGS[ending]


def _archive(study: str, out: Path | None) -> None:
    """Copy a study with its checkpoints to a tar file.

    Raises:
        Misuse: No file is named.
    """
    if out is None:
        raise Misuse("an archive is a file: give --out STUDY.tar")
    from bhpt.tuning.archive import write_archive  # with all that a study's folder needs

    def fill(file: Path) -> None:
        made = write_archive(study, file)
        lost = f", {made.missing} more are damaged or gone" if made.missing else ""
        print(
            f"{made.events} events and {made.checkpoints} checkpoints in {out}{lost}; unpack it "
            f"with `tar -xf {out}` and resume the file in it",
            file=sys.stderr,
        )

    write_whole(out, fill)


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


def _storable(value: object) -> object:
    """A value whose text every encoding can hold."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode()


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
        columns[name] = [_storable(value) for value in values]
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


def refuse_study(out: Path, address: Address) -> None:
    """Refuse to write a file over the study that it is made from.

    Raises:
        Misuse: It would.
    """
    if address.file is not None and out.resolve() == address.file.resolve():
        raise Misuse(f"--out {out} is the study itself: name another file")


def _write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def write_whole(out: Path, fill: Callable[[Path], None]) -> None:
    """Write a file whole or not at all; a device or a pipe is written to, never replaced.

    Args:
        out: Where to.
        fill: Writes a file of the name that it is given.

    Raises:
        Misuse: It cannot be written.
    """
    try:
        special = out.exists() and not out.is_file()
        if out.is_dir():
            raise Misuse(f"cannot write {out}: it is a folder")
        if special:
            with tempfile.TemporaryDirectory() as folder:
                fill(Path(folder, "content"))
                with Path(folder, "content").open("rb") as source, out.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
            return
        target = out.resolve()  # a link keeps leading there
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            fill(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        there = out.parent.exists()
        why = error.strerror if there else f"there is no folder {out.parent}, make it first"
        raise Misuse(f"cannot write {out}: {why}") from None
