"""Peers by name, beside policies and baselines: what `--policies` accepts in the benchmark."""

import atexit
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from bhpt.bench.baselines import registry as baselines
from bhpt.bench.baselines.truth import Truth
from bhpt.bench.peers.environments import Environment, Tell, ensure
from bhpt.bench.peers.policy import PeerPolicy
from bhpt.bench.peers.process import PeerProcess
from bhpt.domain import FloatArray, Misuse
from bhpt.policies.interface import Policy
from bhpt.views.formatting import to_stderr


@dataclass(frozen=True)
class Peer:
    """A peer that can be named.

    Attributes:
        name: What a person types.
        about: One line for `bhpt policies`.
        environment: Where its package is.
        adapter: Its script in `adapters`; one process serves all methods of an adapter.
        method: Which of the adapter's methods.
    """

    name: str
    about: str
    environment: Environment
    adapter: str
    method: str


OPTUNA = Environment("optuna", "5.0.0", (("optuna==5.0.0",),))
SYNE_OLD = Environment(
    "syne-tune",
    "0.13.0",
    (("syne-tune[gpsearchers,kde,blackbox-repository]==0.13.0",),),
    python="3.11",  # it requires numpy 1.23.5
)
SYNE_NEW = Environment(
    "syne-tune", "0.16.0", (("syne-tune==0.16.0", "huggingface_hub", "h5py", "fastparquet"),)
)
SMAC = Environment("smac", "2.4.1", (("smac==2.4.1",),))
DEHB = Environment("dehb", "0.1.2", (("dehb==0.1.2",),), python="3.11")
NEPS = Environment(
    "neps", "0.17.0", (("torch==2.13.0",), ("neural-pipeline-search==0.17.0", "torch==2.13.0"))
)
HPBANDSTER = Environment(
    "hpbandster",
    "0.7.4",
    (("hpbandster==0.7.4", "ConfigSpace==0.7.1", "numpy<2"),),
    python="3.11",  # released in 2018: needs an old ConfigSpace
)

PEERS = (
    Peer("optuna", "Optuna 5.0: TPE, Hyperband pruner", OPTUNA, "optuna_tpe", "hyperband"),
    Peer("optuna-sh", "Optuna 5.0: TPE, halving pruner", OPTUNA, "optuna_tpe", "halving"),
    Peer("asha-promotion", "Syne Tune 0.13: ASHA", SYNE_OLD, "syne_tune_0_13", "asha"),
    Peer("dyhpo", "Syne Tune 0.13: DyHPO", SYNE_OLD, "syne_tune_0_13", "dyhpo"),
    Peer("mobster", "Syne Tune 0.13: MOBSTER", SYNE_OLD, "syne_tune_0_13", "mobster"),
    Peer("hyper-tune", "Syne Tune 0.13: Hyper-Tune", SYNE_OLD, "syne_tune_0_13", "hyper-tune"),
    Peer("bohb-syne", "Syne Tune 0.13: BOHB, asynchronous", SYNE_OLD, "syne_tune_0_13", "bohb"),
    Peer("syne-asha", "Syne Tune 0.16: ASHA, stopping", SYNE_NEW, "syne_tune_0_16", "asha"),
    Peer("syne-cqr", "Syne Tune 0.16: the same, CQR", SYNE_NEW, "syne_tune_0_16", "asha-cqr"),
    Peer("smac-mf", "SMAC 2.4: multi-fidelity", SMAC, "smac_facades", "multi-fidelity"),
    Peer("smac-hb", "SMAC 2.4: Hyperband", SMAC, "smac_facades", "hyperband"),
    Peer("dehb", "DEHB 0.1", DEHB, "dehb_evolution", "dehb"),
    Peer("neps-asha", "NePS 0.17: ASHA", NEPS, "neps_brackets", "asha"),
    Peer("neps-hb", "NePS 0.17: Hyperband", NEPS, "neps_brackets", "hyperband"),
    Peer("bohb", "HpBandSter 0.7: BOHB", HPBANDSTER, "hpbandster_bohb", "bohb"),
)
_BY_NAME = {peer.name: peer for peer in PEERS}
_running: dict[str, PeerProcess] = {}


def names() -> list[str]:
    """All names in the benchmark: policies, baselines, then peers."""
    return [*baselines.names(), *_BY_NAME]


def check(name: str) -> None:
    """Refuse an unknown name, and weights that do not exist."""
    if ":" in name:
        baselines.make_rule(name)
    elif name not in names():
        raise Misuse(f"unknown policy {name!r}: `bhpt policies` lists the {len(names())} there are")


def prepare(wanted: Sequence[str], tell: Tell = to_stderr) -> None:
    """Make the environments of all peers among these names, before anything runs."""
    for name in wanted:
        if name in _BY_NAME:
            ensure(_BY_NAME[name].environment, tell)


def make(name: str, truth: Truth | None = None, features: FloatArray | None = None) -> Policy:
    """A policy, a baseline or a peer by its name, ready to be timed.

    Args:
        name: Which.
        truth: The model that the task was drawn from, if it was.
        features: The encoded configurations of the run, for which a peer precomputes.
    """
    check(name)
    peer = _BY_NAME.get(name)
    if peer is None:
        return baselines.make_rule(name, truth)
    if features is not None:
        PeerPolicy.get_ready(features)
    return PeerPolicy(peer.name, peer.method, _process(peer))


def _process(peer: Peer) -> PeerProcess:
    """The process of the peer's adapter, one for each adapter and worker."""
    running = _running.get(peer.adapter)
    if running is not None and not running.alive:
        _running.pop(peer.adapter).close()
        running = None
    if running is None:
        python = ensure(peer.environment)
        with resources.as_file(resources.files("bhpt.bench.peers") / "adapters") as folder:
            running = PeerProcess(
                peer.environment.label, [str(python), str(folder / "serve.py"), peer.adapter]
            )
        _running[peer.adapter] = running
    return running


@atexit.register
def close() -> None:
    """End all processes of peers; the next run starts them again."""
    while _running:
        _running.popitem()[1].close()
