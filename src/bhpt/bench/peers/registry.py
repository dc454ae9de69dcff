"""Peers by name, beside the policies: what `--policies` accepts in the benchmark."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from bhpt.bench.peers.environments import Environment, Tell, ensure
from bhpt.bench.peers.policy import PeerPolicy
from bhpt.bench.peers.process import PeerProcess
from bhpt.domain import Misuse
from bhpt.policies import registry
from bhpt.policies.interface import Policy
from bhpt.policies.registry import Truth


@dataclass(frozen=True)
class Peer:
    """A peer that can be named.

    Attributes:
        name: What a person types.
        about: One line for `bhpt policies`.
        environment: Where its package is.
        adapter: Its script in `adapters`; one process plays all methods of an adapter.
        method: Which of the adapter's methods.
    """

    name: str
    about: str
    environment: Environment
    adapter: str
    method: str


OPTUNA = Environment("optuna", "5.0.0", (("optuna==5.0.0",),))

PEERS = (
    Peer("optuna", "Optuna 5.0: TPE, Hyperband pruner", OPTUNA, "optuna_tpe", "hyperband"),
    Peer("optuna-sh", "Optuna 5.0: TPE, halving pruner", OPTUNA, "optuna_tpe", "halving"),
)
_BY_NAME = {peer.name: peer for peer in PEERS}
_running: dict[str, PeerProcess] = {}


def names() -> list[str]:
    """All names that the benchmark knows: policies, then peers."""
    return [*registry.names(), *_BY_NAME]


def check(name: str) -> None:
    """Refuse a name that nobody has."""
    if name not in names():
        raise Misuse(f"unknown policy {name!r}: `bhpt policies` lists the {len(names())} there are")


def prepare(wanted: Sequence[str], tell: Tell | None = None) -> None:
    """Make the environments of all peers among these names, before anything runs."""
    for name in wanted:
        if name in _BY_NAME:
            ensure(_BY_NAME[name].environment, tell or _print)


def make(name: str, truth: Truth | None = None) -> Policy:
    """A policy or a peer by its name; a peer's process is started if it does not run yet."""
    if name not in _BY_NAME:
        return registry.make_policy(name, truth)
    peer = _BY_NAME[name]
    return PeerPolicy(peer.name, peer.method, _process(peer))


def _process(peer: Peer) -> PeerProcess:
    """The process of the peer's adapter, one for each adapter and worker."""
    running = _running.get(peer.adapter)
    if running is None or not running.alive:
        python = ensure(peer.environment, _print)
        with resources.as_file(resources.files("bhpt.bench.peers") / "adapters") as folder:
            running = PeerProcess(
                peer.environment.label, [str(python), str(folder / "serve.py"), peer.adapter]
            )
        _running[peer.adapter] = running
    return running


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
