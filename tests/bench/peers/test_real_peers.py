"""Every peer through its own package; the first time, environments are made: minutes."""

import pytest

from bhpt.bench.catalogue import load
from bhpt.bench.peers import registry
from bhpt.bench.simulate import simulate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("peer", registry.PEERS, ids=lambda peer: peer.name)
def test_a_peer_spends_its_budget_and_repeats_itself(peer: registry.Peer) -> None:
    task = load("vae_mnist", 0, arms=20)
    policy = registry.make(peer.name)
    runs = [simulate(task, policy, 60, 1).arms.tolist() for _ in range(2)]
    assert len(runs[0]) == 60
    assert len(set(runs[0])) > 1
    assert runs[0] == runs[1]
