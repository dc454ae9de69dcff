"""What both training commands can be told, and what they write."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.policy.folds import kinds_listed
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.passport import TrainedOn
from bhpt.beliefs.learned.weights import Network, new_passport, write_weights


def listed(text: str) -> tuple[str, ...]:
    """Names with commas between them, none of an empty text."""
    return tuple(filter(None, text.split(",")))


def parser(
    module: str, about: str | None, seconds: float, rate: float, falls_to: str
) -> argparse.ArgumentParser:
    """A parser of the options that the two commands share.

    Args:
        module: Which of them.
        about: What the command does.
        seconds: How long it trains unless told otherwise.
        rate: Rate of learning at the start.
        falls_to: What it falls to, in words.
    """
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.policy.{module}", description=about)
    made.add_argument("--pool", required=True, help="file that benchmarks.policy.pool wrote")
    made.add_argument(
        "--knowledge",
        default="",
        help="files that benchmarks.policy.knowledge wrote for it, with commas; a study takes one "
        "of their ways of folding; without any no name is known",
    )
    made.add_argument("--out", required=True, help="file of the weights, .npz")
    made.add_argument("--seconds", type=float, default=seconds)
    made.add_argument("--start", default="", help="weights to go on from")
    add_leave_out(made)
    made.add_argument("--shrink", type=int, default=1, help="fewer studies, to try it out")
    made.add_argument("--rate", type=float, default=rate, help=f"of learning; falls to {falls_to}")
    return made


def add_leave_out(made: argparse.ArgumentParser) -> None:
    """The tasks that are kept, which must be the same for all commands."""
    made.add_argument(
        "--leave-out",
        type=listed,
        default=(),
        help="tasks not to train on, with commas; patterns such as 'lcbench:*' too",
    )
    made.add_argument(
        "--leave-out-kind",
        type=kinds_listed,
        default=(),
        help="kinds not to train on, with commas; fold:c for all of a fold",
    )


def parsed(
    made: argparse.ArgumentParser, arguments: Sequence[str] | None = None
) -> argparse.Namespace:
    """The options, and as `command` the command itself."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = made.parse_args(words)
    options.command = shlex.join([*made.prog.split(), *words])
    return options


def save(
    options: argparse.Namespace,
    network: Network,
    weights: Weights,
    trained_on: TrainedOn,
) -> None:
    """Write weights with a passport to the file that was asked for."""
    write(Path(options.out), options.command, network, weights, trained_on)


def write(
    file: Path, command: str, network: Network, weights: Weights, trained_on: TrainedOn
) -> None:
    """Write weights with a passport."""
    arrays = {name: np.asarray(w) for name, w in weights.items()}
    today = datetime.now(UTC).date().isoformat()
    write_weights(file, arrays, new_passport(network, arrays, trained_on, command, today))
