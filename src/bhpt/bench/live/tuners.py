"""Other tuners in live runs, through their own packages, each in an environment of its own."""

import atexit
from importlib import resources
from typing import Any

from bhpt.bench.live.job import LiveJob
from bhpt.bench.peers.environments import Environment, ensure
from bhpt.bench.peers.process import PeerProcess
from bhpt.bench.peers.registry import OPTUNA, SMAC

TUNERS: dict[str, Environment] = {"optuna": OPTUNA, "smac": SMAC}
"""Environments by the names that `--policies` takes."""

_running: dict[str, PeerProcess] = {}


def prepare(names: tuple[str, ...]) -> None:
    """Make the environments of all tuners among these names, before anything runs."""
    for name in names:
        if name in TUNERS:
            ensure(TUNERS[name])


def begin(
    name: str, job: LiveJob, budget: int, seed: int, first: dict[str, Any] | None, folder: str
) -> tuple[PeerProcess, dict[str, Any]]:
    """Start a run of a tuner, which may write below `folder`; its process and first message."""
    process = _process(name)
    message = {
        "tuner": name,
        "space": {axis: _axis(given) for axis, given in job.space.items()},
        "first": first,
        "epochs": job.epochs,
        "budget": budget,
        "seed": seed,
        "folder": folder,
    }
    return process, process.exchange({"begin": message})


def _axis(given: Any) -> Any:  # noqa: ANN401  # a range or choices in short form
    if isinstance(given, list):
        return {"choices": given}
    low, high, *scale = given
    return [low, high, bool(scale), isinstance(low, int) and isinstance(high, int)]


def _process(name: str) -> PeerProcess:
    running = _running.get(name)
    if running is None or not running.alive:
        script = resources.files("bhpt.bench.live") / "adapters" / "open_space.py"
        python = ensure(TUNERS[name])
        running = PeerProcess(name, [str(python), str(script), name])
        atexit.register(running.close)
        _running[name] = running
    return running
