"""Command line: `python -m benchmarks.policy.tables --out FOLDER` unpacks the tables."""

import argparse
from pathlib import Path

from benchmarks.policy.options import listed
from benchmarks.policy.tables import kinds, unpack


def main() -> None:
    """Unpack the tables of some kinds, or of all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy.tables", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the tables")
    parser.add_argument(
        "--kinds",
        type=listed,
        default=(),
        help=f"with commas, of {', '.join(kinds())}; default all",
    )
    options = parser.parse_args()
    print(f"{unpack(options.out, options.kinds)} tables in {options.out}")


if __name__ == "__main__":
    main()
