"""A peer that needs no environment, and a small task."""

import sys
from pathlib import Path

import numpy as np

from bhpt.bench.peers.process import PeerProcess
from bhpt.bench.tasks import Task

ADAPTERS = Path(__file__).parents[3] / "src" / "bhpt" / "bench" / "peers" / "adapters"
_START = (
    "import sys; sys.path[:0] = sys.argv[1:3]; sys.argv[1:] = sys.argv[3:]; "
    "import serve; serve.main()"
)


def fake_peer(adapter: str = "fake_tuners", patience_s: float = 30.0) -> PeerProcess:
    """A process that plays the fake tuners."""
    here = Path(__file__).parent
    return PeerProcess(
        "fake", [sys.executable, "-c", _START, str(ADAPTERS), str(here), adapter], patience_s
    )


def small_task(arms: int = 4, epochs: int = 6, unit: int = 1) -> Task:
    """Arm k falls from 1 towards 0.1 k: the lower the number the better, from the start on."""
    fall = np.exp(-np.arange(1, epochs + 1) / 2)
    ends = 0.1 * np.arange(arms)[:, None]
    features = np.linspace(0, 1, arms)[:, None].repeat(2, axis=1)
    return Task("small", ends + (1 - ends) * fall, 1.0, unit, features)
