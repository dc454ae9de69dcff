import ast

import pytest

from bhpt.bench.baselines.registry import BASELINES
from bhpt.bench.peers import registry
from bhpt.bench.peers.registry import PEERS, Peer
from bhpt.domain import Misuse
from bhpt.policies.registry import BENCHMARK_ONLY, make_policy
from bhpt.policies.registry import names as policy_names
from tests.bench.peers.helpers import ADAPTERS


def methods(adapter: str) -> list[str]:
    """Keys of the adapter's METHODS, read without importing it."""
    tree = ast.parse((ADAPTERS / f"{adapter}.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "METHODS":
            assert isinstance(node.value, ast.Dict)
            return [ast.literal_eval(key) for key in node.value.keys if key is not None]
    raise AssertionError(f"{adapter} has no METHODS")


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_has_its_adapter_and_its_pins(peer: Peer) -> None:
    assert peer.method in methods(peer.adapter)
    pins = peer.environment.constraints.splitlines()
    assert all("==" in pin and "+" not in pin for pin in pins)
    package = peer.environment.steps[-1][0].replace("_", "-").lower()
    name, version = package.partition("[")[0].partition("=")[0], package.partition("==")[2]
    assert f"{name}=={version}" in [pin.replace("_", "-").lower() for pin in pins]


def test_every_method_of_an_adapter_can_be_named() -> None:
    for adapter in {peer.adapter for peer in PEERS}:
        named = {peer.method for peer in PEERS if peer.adapter == adapter}
        assert named == set(methods(adapter))


def test_names_are_unique_and_policies_come_first() -> None:
    names = registry.names()
    assert len(set(names)) == len(names)
    assert names[: len(policy_names())] == policy_names()
    assert {"optuna", "dyhpo", "mobster", "bohb", "smac-mf", "dehb", "neps-asha"} <= set(names)


def test_baselines_are_known_to_the_benchmark_and_refused_for_tuning() -> None:
    assert [entry.name for entry in BASELINES] == list(BENCHMARK_ONLY)
    for entry in BASELINES:
        registry.check(entry.name)
        with pytest.raises(Misuse, match="baseline of the benchmark"):
            make_policy(entry.name)


def test_an_unknown_name_is_one_line() -> None:
    for use in (registry.check, registry.make):
        with pytest.raises(Misuse, match="unknown policy 'hyperopt'"):
            use("hyperopt")


def test_policies_are_made_as_ever_and_need_no_environment() -> None:
    registry.prepare(["random", "asha"], tell=pytest.fail)
    assert registry.make("random") is not None
