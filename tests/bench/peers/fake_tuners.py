"""Tuners as small as can be, each with one habit; run by the current interpreter."""

import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session


def ladder(session: "Session") -> None:
    """Every arm for one unit, then all of them from the best on to their end."""
    first = {arm: session.train(arm, 1)[0] for arm in range(len(session.points))}
    for arm in sorted(first, key=lambda arm: first[arm]):
        values = session.train(arm, session.units)
        assert len(values) == session.units
        assert values[0] == first[arm]


def halves(session: "Session") -> None:
    """Random arms to half of their units: leaves something over."""
    while (arm := session.draw()) is not None:
        assert len(session.train(arm, session.units / 2)) == session.units // 2


def near_the_corner(session: "Session") -> None:
    """Unused arms in order of their distance from the corner."""
    while (arm := session.nearest([1.0] * len(session.names))) is not None:
        assert session.arm_at(session.config(arm)) == arm
        session.train(arm, 1)


def stuck(session: "Session") -> None:
    """The same arm and the same unit for ever."""
    while True:
        session.train(2, 1)


def talkative(session: "Session") -> None:
    """Prints while it works and writes files."""
    while (arm := session.draw()) is not None:
        print("not a message")
        os.system("echo neither is this")
        (session.folder / "log.txt").write_text("x")
        session.train(arm, 1)


def mistaken(session: "Session") -> None:
    """Raises in the middle of a run."""
    session.train(0, 2)
    raise RuntimeError("surrogate model is singular\nand more lines")


def killed(session: "Session") -> None:
    """Dies in the middle of a run."""
    session.train(0, 2)
    print("a last word", file=sys.stderr)
    sys.stderr.flush()
    os._exit(3)


def silent(session: "Session") -> None:
    """Never answers again."""
    session.train(0, 1)
    time.sleep(60)


METHODS = {
    "ladder": ladder,
    "halves": halves,
    "corner": near_the_corner,
    "stuck": stuck,
    "talkative": talkative,
    "mistaken": mistaken,
    "killed": killed,
    "silent": silent,
}
