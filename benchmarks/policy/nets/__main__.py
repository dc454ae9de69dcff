"""Command line: `python -m benchmarks.policy.nets` trains tables of small networks."""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhpt.bench.kinds import FAMILIES

from .data import Sets, draw_examples
from .space import Plan, describe, draw_plan
from .training import Ready, compiled, prepare, train

Program = tuple[str, int]  # family, examples of a step


def parser() -> argparse.ArgumentParser:
    """The options."""
    root = argparse.ArgumentParser(prog="python -m benchmarks.policy.nets", description=__doc__)
    root.add_argument("--data", type=Path, required=True, help="what `nets.packing` wrote")
    root.add_argument("--out", type=Path, required=True, help="folder of the tables")
    root.add_argument("--tables", type=int, default=100, help="how many")
    root.add_argument("--first", type=int, default=0, help="number of the first")
    root.add_argument("--every", type=int, default=1, help="take only each so many-th table")
    root.add_argument("--arms", type=int, default=100, help="configurations of a table")
    root.add_argument("--seconds", type=float, default=float("inf"), help="no new table after")
    root.add_argument("--seed", type=int, default=0, help="of everything random")
    root.add_argument("--shrink", type=int, default=1, help="divides arms, units and steps")
    return root


def write(plan: Plan, table: NDArray[np.float32], how: str, out: Path, name: str) -> None:
    """Writes NAME.npz and NAME.json; the second says that both are there."""
    with (out / f"{name}.npz").open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, loss=table)
    words = {
        "kind": FAMILIES[plan.family],
        "metric": plan.metric,
        "epochs_per_unit": 1,
        "how": how,
        "configs": plan.configs,
    }
    (out / f"{name}.json").write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")


def how_made(plan: Plan, about: str) -> str:
    """A table in one line."""
    return (
        f"{plan.family} on {about}; {plan.length}; fixed: {describe(plan)}; seed "
        f"{plan.seed[0]}, table {plan.seed[1]}. Column 0 is untrained; NaN: diverged."
    )


def line(name: str, plan: Plan, table: NDArray[np.float32], seconds: float) -> str:
    """What is said of a table that is done."""
    ends = table[:, -1]
    lost = np.isnan(ends)
    start = float(np.nanmedian(table[:, 0])) if np.isfinite(table[:, 0]).any() else np.nan
    there = ends[~lost]
    best, median = (there.min(), np.median(there)) if there.size else (np.nan, np.nan)
    return (
        f"{name} {seconds:6.2f} s  {plan.family} {plan.dataset:10s} {table.shape[0]:3d} x "
        f"{plan.units:2d} x {plan.steps:3d} x {plan.micro:2d}  start {start:.3g} best {best:.3g} "
        f"median {median:.3g} diverged {lost.mean():.0%}  {plan.metric}"
    )


def chosen(options: argparse.Namespace) -> Iterator[tuple[int, Plan]]:
    """Numbers and plans of the tables that are asked for."""
    numbers = range(options.first, options.first + options.tables, options.every)
    for number in numbers:
        yield number, draw_plan(options.seed, number, options.arms, options.shrink)


def in_time(
    plans: Sequence[tuple[int, Plan]], programs: dict[Program, "Future[Any]"]
) -> Iterator[tuple[int, Plan]]:
    """The tables in their order, but first those whose program is compiled already."""
    left = list(plans)
    while left:
        wait([programs[p[1].family, p[1].micro] for p in left], return_when=FIRST_COMPLETED)
        nearest = next(p for p in left if programs[p[1].family, p[1].micro].done())
        left.remove(nearest)
        yield nearest


def made(plan: Plan, sets: Sets, arms: int) -> tuple[Ready, str]:
    """A table ready to be trained, and its data in words."""
    rng = np.random.default_rng((*plan.seed, 3))
    examples = draw_examples(rng, plan.dataset, plan.family, sets)
    return prepare(plan, examples, arms), how_made(plan, examples.about)


def one_ahead(
    plans: Iterator[tuple[int, Plan]], sets: Sets, arms: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[int, Plan, Ready, str]]:
    """Tables ready to be trained; while one is trained the next is made ready."""
    waiting: list[tuple[int, Plan, Future[tuple[Ready, str]]]] = []
    for number, plan in plans:
        waiting.append((number, plan, pool.submit(made, plan, sets, arms)))
        if len(waiting) > 1:
            at, before, made_of = waiting.pop(0)
            yield at, before, *made_of.result()
    for at, before, made_of in waiting:
        yield at, before, *made_of.result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and writes tables until all are there or time is up."""
    options = parser().parse_args(arguments)
    began = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    with np.load(options.data) as file:
        sets = {name: file[name] for name in file.files}
    plans = list(chosen(options))
    arms = max(4, options.arms // options.shrink)
    kinds = dict.fromkeys((plan.family, plan.micro) for _, plan in plans)
    with ThreadPoolExecutor(len(kinds)) as compiling, ThreadPoolExecutor(1) as making:
        programs = {kind: compiling.submit(compiled, *kind, arms) for kind in kinds}
        order = in_time(plans, programs)
        for number, plan, ready, how in one_ahead(order, sets, arms, making):
            if time.monotonic() - began > options.seconds:
                break
            unit = programs[plan.family, plan.micro].result()
            started = time.monotonic()
            table = train(plan, ready, unit)
            name = f"net_{number:03d}"
            write(plan, table, how, options.out, name)
            print(line(name, plan, table, time.monotonic() - started), flush=True)
    print(f"{time.monotonic() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
