"""Command line: `python -m benchmarks.policy.jobs.deep_tables` trains tables of deep learning."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .deep import KINDS, table
from .job import write_table


def parser() -> argparse.ArgumentParser:
    """The options."""
    root = argparse.ArgumentParser(
        prog="python -m benchmarks.policy.jobs.deep_tables", description=__doc__
    )
    root.add_argument("--kinds", default=",".join(KINDS), help="which, with commas")
    root.add_argument("--out", type=Path, required=True, help="folder of the tables")
    root.add_argument("--tables", type=int, default=20, help="how many of each kind")
    root.add_argument("--first", type=int, default=0, help="number of the first")
    root.add_argument("--arms", type=int, default=64, help="configurations of a table")
    root.add_argument("--seconds", type=float, default=float("inf"), help="no new table after")
    root.add_argument("--seed", type=int, default=0, help="of everything random")
    root.add_argument("--shrink", type=int, default=1, help="divides units and steps")
    root.add_argument("--widen", type=int, default=1, help="multiplies widths and data")
    root.add_argument("--device", default="cuda", help="cuda or cpu")
    return root


def main(arguments: Sequence[str] | None = None) -> None:
    """Train tables, a kind after the other, until all are there or time is up.

    A table that is in the folder is left as it is, so an interrupted command can be repeated.
    """
    options = parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for number in range(options.first, options.first + options.tables):
        for kind in options.kinds.split(","):
            if time.monotonic() - began > options.seconds:
                return
            name = f"{kind}_{number:03d}"
            if (options.out / f"{name}.json").exists():
                continue
            started = time.monotonic()
            rng = np.random.default_rng((options.seed, 100 + list(KINDS).index(kind), number))
            job, configs, loss, steps = table(
                kind, rng, options.arms, options.device, options.shrink, options.widen
            )
            about = f"{job.about}; {steps} steps a unit; fixed: {job.fixed}"
            how = f"{about}; seed {options.seed}, table {number}. NaN: diverged."
            words = {"metric": job.metric, "kind": job.kind, "how": how}
            line = write_table(options.out, name, words, configs, loss)
            print(f"{line}, {time.monotonic() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
