"""What both training commands can be told, and what they write."""

import argparse
from collections.abc import Iterable

import numpy as np

from bhpt.beliefs.learned.network import Weights
from bhpt.domain import Misuse


def listed(text: str) -> tuple[str, ...]:
    """Names with commas between them, none of an empty text."""
    return tuple(filter(None, text.split(",")))


def parser(
    about: str | None, seconds: float, rate: float, falls_to: str
) -> argparse.ArgumentParser:
    """A parser of the options that the two commands share.

    Args:
        about: What the command does.
        seconds: How long it trains unless told otherwise.
        rate: Rate of learning at the start.
        falls_to: What it falls to, in words.
    """
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--pool", required=True, help="file that benchmarks.policy.pool wrote")
    made.add_argument(
        "--knowledge",
        default="",
        help="file that benchmarks.policy.knowledge wrote for it; without it no name is known",
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
        "--leave-out", type=listed, default=(), help="tasks not to train on, with commas"
    )


def refuse_unknown(asked: Iterable[str], names: Iterable[str]) -> None:
    """Refuse tasks that the pool does not have.

    Raises:
        Misuse: There are such.
    """
    if unknown := {*asked} - {*names}:
        raise Misuse(f"not in the pool: {', '.join(sorted(unknown))}")


def save(options: argparse.Namespace, weights: Weights) -> None:
    """Write weights, together with the knowledge of names that the network was told by."""
    known = {}
    if options.knowledge:
        with np.load(options.knowledge) as file:
            known = {name: file[name] for name in file if name != "opinions"}
    np.savez(options.out, **known, **{name: np.asarray(w) for name, w in weights.items()})
