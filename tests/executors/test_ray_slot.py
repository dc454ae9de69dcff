"""A slot on a cluster, with a stand-in for Ray: what only a broken node would show."""

import sys
from types import SimpleNamespace

import pytest

from bhpt.executors.local_slot import LocalOptions
from bhpt.executors.ray_node import NodeReady, NodeUnusable
from bhpt.executors.ray_options import Ray
from bhpt.executors.ray_slot import NodePlan, RaySlot
from bhpt.trainers.specs import Imported


class _RayError(Exception):
    """What Ray raises."""


class _Cluster:
    """Stands in for `ray`: every actor that is asked for answers the same."""

    def __init__(self, answer: NodeReady | NodeUnusable) -> None:
        self.answer = answer
        self.asked = 0
        self.killed = 0
        self.exceptions = SimpleNamespace(RayError=_RayError)

    def remote(self, _: object) -> SimpleNamespace:
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self._make))

    def _make(self, *_: object) -> SimpleNamespace:
        self.asked += 1
        answer = f"answer {self.asked}"
        return SimpleNamespace(start=SimpleNamespace(remote=lambda: answer))

    def get(self, _: object) -> NodeReady | NodeUnusable:
        return self.answer

    def kill(self, _: object) -> None:
        self.killed += 1


@pytest.mark.parametrize(
    "answer",
    [NodeUnusable("there is no module 'train'", ""), NodeReady(1.0, "0.0.1", 1, "node")],
    ids=["no trainer", "another version"],
)
def test_a_node_that_cannot_be_used_is_asked_again_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch, answer: NodeReady | NodeUnusable
) -> None:
    cluster, clock = _Cluster(answer), SimpleNamespace(now=0.0)
    monkeypatch.setitem(sys.modules, "ray", cluster)
    monkeypatch.setitem(sys.modules, "ray.exceptions", cluster.exceptions)
    stopped = SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr("bhpt.executors.ray_slot.time", stopped)
    slot = RaySlot(0, NodePlan(Imported("train:Net"), Ray(), LocalOptions()))
    for second in range(60):
        clock.now = float(second)
        if slot.is_empty:
            slot.ask()
        slot.tend(set(slot.awaited))
    assert slot.unusable is not None
    assert slot.is_empty
    assert cluster.killed == cluster.asked
    assert 4 <= cluster.asked <= 8  # not once a second
