"""`bhpt bench calibration`: error and coverage of the predicted ends of curves."""

import csv
from dataclasses import astuple
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bhpt.bench.calibration import PREDICTORS, CalibrationPlan, calibrate
from bhpt.bench.peers.calibration import COLUMNS, Calibration
from bhpt.bench.peers.suites import grouped, suites
from bhpt.cli.bench import CORES, ArmsOption, BenchProgress, Data, JobsOption, Seeds, Tasks, words
from bhpt.domain import Misuse


def calibration(
    out: Annotated[Path, typer.Option(help="CSV to write, for `bench peers --calibration`.")],
    data: Data = None,
    tasks: Tasks = "",
    belief: Annotated[str, typer.Option(help=f"One of {', '.join(PREDICTORS)}.")] = "learned",
    seeds: Seeds = 2,
    arms: ArmsOption = 100,
    jobs: JobsOption = CORES,
) -> None:
    """Predict the ends of curves from a part of them; coverage and error by suite."""
    if out.is_dir():
        raise Misuse(f"--out {out} is a folder: name a file")
    compared = grouped(words(tasks, "--tasks")) if tasks else suites(data)
    plan = CalibrationPlan(compared, belief, seeds, arms, data)
    reporter = BenchProgress()
    try:
        lines = calibrate(plan, jobs, lambda done, total: reporter(done, total, None))
    finally:
        reporter.close()
    write(lines, out)
    _show(lines)
    print(f"{len(lines)} rows in {out}")


def write(lines: list[Calibration], out: Path) -> None:
    """The lines as CSV."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(astuple(line) for line in lines)


def _show(lines: list[Calibration]) -> None:
    table = Table("suite", title="90% intervals of the end of a curve", box=None)
    for name in ("% seen", "coverage", "error", "of the last value"):
        table.add_column(name, justify="right")
    for line in lines:
        numbers = (line.coverage, line.error, line.last_value)
        table.add_row(line.suite, f"{line.seen:g}", *(f"{number:.4f}" for number in numbers))
    Console().print(table)
