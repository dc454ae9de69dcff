"""Which weights a study was created with, and what is said when there are others by now."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from bhpt.beliefs.learned.weights import Network, shipped, write_weights
from bhpt.policies.registry import networks
from bhpt.study import MemoryLog, Plan, Study
from bhpt.study.creation import note_of_other_weights
from bhpt.study.events import StudyCreated
from tests.study.cases import CONFIGS, Greedy, into


def weights_in(folder: Path, factor: float) -> str:
    """Policy `learned` with weights of its own."""
    parts: tuple[Network, ...] = get_args(Network)
    folder.mkdir(exist_ok=True)
    for part in parts:
        arrays = {name: factor * value for name, value in shipped(part).items()}
        write_weights(folder / f"{part}.npz", arrays, shipped(part).passport)
    return f"learned:{folder}"


def plan_of(log: MemoryLog) -> Plan:
    created = log.read()[0]
    assert isinstance(created, StudyCreated)
    return created.plan


@pytest.mark.parametrize("name", ["default", "learned", "nameless"])
def test_a_study_notes_the_weights_of_its_policy(name: str) -> None:
    log = MemoryLog()
    Study(CONFIGS, "10 epochs", policy=name, keep=into(log))
    expected = {name: shipped(name).digest for name in get_args(Network)}
    assert plan_of(log).networks == networks(name) == expected
    assert note_of_other_weights(plan_of(log)) is None


def test_policies_without_networks_have_none_to_note() -> None:
    for policy in ("random", Greedy()):
        log = MemoryLog()
        Study(CONFIGS, "10 epochs", policy=policy, keep=into(log))
        assert plan_of(log).networks == {}
        assert note_of_other_weights(plan_of(log)) is None


def test_other_weights_are_noted_in_one_line_and_the_study_goes_on(tmp_path: Path) -> None:
    name = weights_in(tmp_path / "now", 2.0)
    log = MemoryLog()
    study = Study(CONFIGS, "10 epochs", policy=name, keep=into(log))
    old = {**networks(name), "policy": "ab" * 32}
    events = [replace(e, plan=replace(e.plan, networks=old)) if isinstance(e, StudyCreated) else e
              for e in log.read()]  # fmt: skip
    other = MemoryLog(events)
    note = note_of_other_weights(plan_of(other))
    assert note is not None
    assert "\n" not in note
    assert f"policy 'abababababab', now {networks(name)['policy'][:12]!r}" in note
    assert "ends" not in note
    with pytest.warns(UserWarning, match="other weights of `learned:"):
        resumed = Study.resume(other)
    assert resumed.ask() is not None
    Study.resume(other, Greedy())  # another policy was asked for: nothing to say
    Study.resume(log)
    assert study.state.plan.networks == networks(name)


def test_nothing_is_said_where_weights_were_not_noted() -> None:
    log = MemoryLog()
    Study(CONFIGS, "10 epochs", policy="learned", keep=into(log))
    assert note_of_other_weights(replace(plan_of(log), networks={})) is None
