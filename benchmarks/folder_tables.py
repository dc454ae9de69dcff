"""Which tables of a folder a benchmark is about, as its command line says."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.policy.options import listed
from bhpt.bench.catalogue import in_folder


def folder_parser(module: str, about: str | None) -> argparse.ArgumentParser:
    """A parser of the folder and of the names of its tables.

    Args:
        module: Of the benchmark, in `benchmarks`.
        about: What it does.
    """
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=about)
    made.add_argument("folder", type=Path)
    made.add_argument("--tables", type=listed, default=(), help="with commas; default all")
    return made


def tables_asked(options: argparse.Namespace) -> Sequence[str]:
    """The tables that were named, or all of the folder."""
    return options.tables or in_folder(options.folder)
