"""Command line: `python -m benchmarks.policy.tables --out FOLDER` unpacks the tables.

`--pack FOLDER` makes the archives of the kinds in a folder instead; `--add FOLDER` puts its tables
beside those that the archives hold.
"""

import argparse
from pathlib import Path

from benchmarks.policy.options import listed
from benchmarks.policy.tables import kinds, pack, unpack


def main() -> None:
    """Unpack the tables of some kinds, or of all; or pack those of a folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy.tables", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="folder to unpack into")
    what.add_argument("--pack", type=Path, help="folder whose tables become archives")
    what.add_argument("--add", type=Path, help="folder whose tables come into the archives")
    parser.add_argument(
        "--kinds",
        type=listed,
        default=(),
        help=f"with commas, of {', '.join(kinds())}; default all",
    )
    options = parser.parse_args()
    folder = options.pack or options.add
    if folder is not None:
        for kind, count in pack(folder, beside=options.add is not None).items():
            print(f"{kind} {count}")
        return
    print(f"{unpack(options.out, options.kinds)} tables in {options.out}")


if __name__ == "__main__":
    main()
