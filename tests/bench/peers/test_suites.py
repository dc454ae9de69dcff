from pathlib import Path

import numpy as np
import pytest

from bhpt.bench.peers.calibration import Calibration, read
from bhpt.bench.peers.suites import Suite, grouped, suites
from bhpt.bench.tasks import PACKAGED
from bhpt.domain import Misuse


def test_without_a_folder_what_ships() -> None:
    assert suites(None) == (Suite("tables", PACKAGED), Suite("synthetic", ("synthetic",)))


def test_a_folder_adds_pairs_and_collections(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    np.savez(tmp_path / "deep" / "lcbench_a.npz", datasets=["adult", "higgs"])
    np.savez(tmp_path / "lcbench_b.npz", datasets=["higgs", "kc1"])
    np.savez(tmp_path / "taskset_a.npz", tasks=["rnn"])
    for name in ("mine.npz", "mine.json", "resnet_cifar10.npz", "resnet_cifar10.json"):
        (tmp_path / name).write_text("{}")
    found = {suite.name: suite.tasks for suite in suites(tmp_path)}
    assert found["tables"] == (*PACKAGED, "mine")
    assert sorted(found["lcbench"]) == ["lcbench:adult", "lcbench:higgs", "lcbench:kc1"]
    assert found["taskset"] == ("taskset:rnn",)


def test_a_broken_collection_and_a_missing_folder_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "lcbench_x.npz").write_text("no archive")
    with pytest.raises(Misuse, match=r"lcbench_x\.npz below --data cannot be read"):
        suites(tmp_path)
    with pytest.raises(Misuse, match="no such folder"):
        suites(tmp_path / "absent")


def test_chosen_tasks_are_grouped() -> None:
    chosen = ("lcbench:0", "vae_mnist", "lcbench:kc1", "synthetic-raw", "mine")
    assert grouped(chosen) == (
        Suite("lcbench", ("lcbench:0", "lcbench:kc1")),
        Suite("tables", ("vae_mnist", "mine")),
        Suite("synthetic-raw", ("synthetic-raw",)),
    )


def test_calibration_is_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "calibration.csv"
    file.write_text("suite,seen,coverage,error,last_value\nlcbench,5,0.9,0.1,0.2\n")
    assert read(file) == [Calibration("lcbench", 5.0, 0.9, 0.1, 0.2)]
    file.write_text("suite,seen,coverage,error,last_value\nlcbench,5,0.9,much,0.2\n")
    with pytest.raises(Misuse, match="could not convert"):
        read(file)
    file.write_text("a,b\n1,2\n")
    with pytest.raises(Misuse, match="needs the columns suite,seen"):
        read(file)
    with pytest.raises(Misuse, match="cannot be read"):
        read(tmp_path / "absent.csv")
