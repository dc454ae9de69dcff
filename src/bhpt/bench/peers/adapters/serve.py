"""The peer's side of the protocol; run as `python serve.py ADAPTER` in its environment.

One JSON object a line. The simulator begins a run, the peer asks for training, the simulator
answers with what the training showed:

    simulator  {"begin": {"method", "points", "offsets", "units", "budget", "seed"}}
    peer       {"train": {"arm", "to"}}      train this arm until it has had `to` units
    simulator  {"values": [...]}             lowest loss after each of its units, at least `to`
    peer       {"done": true}                nothing is left that this peer would train
    simulator  {"begin": ...}                at any time: the run is over, here is the next

An adapter is a module with `METHODS`, functions of a `Session` by name. It is written as the loop
that a user of the package would write; `Session.train` takes the place of the training. Only the
standard library is used here: nothing else is in every environment.

Notation:
    K  arms, D  encoded features.
"""

import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

WireMessage = dict[str, Any]


class RunOver(BaseException):
    """Leaves an adapter's loop when the budget is gone; no package catches it by accident."""

    def __init__(self, following: WireMessage | None) -> None:
        """Carry the message that came instead of an answer; None if there will be no other."""
        super().__init__()
        self.following = following


class Wire:
    """Lines of JSON both ways."""

    def __init__(self, incoming: TextIO, outgoing: TextIO) -> None:
        """Talk over two open text files."""
        self._incoming = incoming
        self._outgoing = outgoing

    def send(self, message: WireMessage) -> None:
        """Write one message."""
        self._outgoing.write(json.dumps(message) + "\n")
        self._outgoing.flush()

    def receive(self) -> WireMessage | None:
        """Read one message; None when the other side has closed the connection."""
        line = self._incoming.readline()
        message: WireMessage | None = json.loads(line) if line else None
        return message


class Session:
    """One run, as an adapter sees it.

    Attributes:
        points: Encoded configurations, all different, in [0, 1], [K][D].
        units: The last unit that an arm can reach.
        budget: Units in all. Peers do not plan with it; some want a number of trials.
        seed: For the peer's own random numbers.
        folder: Where the package may write; removed after the run.
    """

    def __init__(self, begin: WireMessage, wire: Wire, folder: Path) -> None:
        """Start before the first unit."""
        self.points: list[list[float]] = begin["points"]
        self._offsets: list[float] = begin["offsets"]
        self.units: int = begin["units"]
        self.budget: int = begin["budget"]
        self.seed: int = begin["seed"]
        self.folder = folder
        self.random = random.Random(self.seed)
        self._wire = wire
        self._trained = [0] * len(self.points)

    @property
    def names(self) -> list[str]:
        """A name for each feature: x00, x01, .."""
        return [f"x{d:02d}" for d in range(len(self.points[0]))]

    def config(self, arm: int) -> dict[str, float]:
        """The features of an arm by name."""
        return dict(zip(self.names, self.points[arm], strict=True))

    def configs(self) -> list[dict[str, float]]:
        """The features of all arms."""
        return [self.config(arm) for arm in range(len(self.points))]

    def train(self, arm: int, to: float) -> list[float]:
        """Lowest loss after each of the arm's first `to` units, trained now where need be.

        Training goes on where the arm stands: an arm that has had `to` units costs nothing.
        """
        wanted = min(max(1, round(to)), self.units)
        self._wire.send({"train": {"arm": arm, "to": wanted}})
        answer = self._wire.receive()
        if answer is None or "begin" in answer:
            raise RunOver(answer)
        values: list[float] = answer["values"]
        self._trained[arm] = len(values)
        return values[:wanted]

    def unused(self) -> list[int]:
        """Arms that have not been trained at all."""
        return [arm for arm, units in enumerate(self._trained) if not units]

    def draw(self) -> int | None:
        """A random unused arm; None when every arm has been used."""
        there = self.unused()
        return self.random.choice(there) if there else None

    def nearest(self, point: Sequence[float]) -> int | None:
        """The unused arm for a proposed point; None when every arm has been used.

        It is the nearest one, with offsets that make uniform points fall on all arms equally often:
        without them the arms in the middle of the cube would get most of the points.
        """

        def far(arm: int) -> float:
            return self._distance(arm, point) - self._offsets[arm]

        return min(self.unused(), key=far, default=None)

    def arm_at(self, config: Any) -> int:
        """The arm that has these features, whatever rounding the package did."""
        point = [float(config[name]) for name in self.names]
        return min(range(len(self.points)), key=lambda arm: self._distance(arm, point))

    def _distance(self, arm: int, point: Sequence[float]) -> float:
        return sum((a - b) ** 2 for a, b in zip(self.points[arm], point, strict=True))


def serve(methods: dict[str, Any], wire: Wire) -> None:
    """Serve run after run until the other side closes the connection."""
    message = wire.receive()
    while message is not None:
        folder = Path(tempfile.mkdtemp(dir=Path.cwd()))
        begin = message["begin"]
        try:
            methods[begin["method"]](Session(begin, wire, folder))
            wire.send({"done": True})
            message = wire.receive()
        except RunOver as over:
            message = over.following
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Serve the adapter named on the command line."""
    outgoing = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the package must not mix with the messages
    wire = Wire(sys.stdin, outgoing)
    try:
        methods = importlib.import_module(sys.argv[1]).METHODS
        wire.send({"ready": sorted(methods)})
        serve(methods, wire)
    except Exception as error:  # noqa: BLE001  # any error is reported to the other side
        traceback.print_exc()
        said = str(error).strip().splitlines() or ["no message"]
        wire.send({"failed": f"{type(error).__name__}: {said[0]}"})
        sys.exit(1)


if __name__ == "__main__":
    main()
