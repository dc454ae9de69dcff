import os
from pathlib import Path

import pytest

from bhpt.domain import Misuse, Resume
from bhpt.executors import Job, LocalExecutor, LocalOptions
from bhpt.executors.devices import find_devices, share_devices
from bhpt.executors.processes import Surroundings, worker_environment
from bhpt.trainers import spec_of
from tests.executors.helpers import freeze_folder, run

FOUR = ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("workers", "each", "shares"),
    [
        (2, 1, [("0",), ("1",)]),
        (2, 2, [("0", "1"), ("2", "3")]),
        (1, 4, [("0", "1", "2", "3")]),
        (5, 0.5, [("0",), ("0",), ("1",), ("1",), ("2",)]),
        (4, 0.3, [("0",), ("0",), ("0",), ("1",)]),
        (3, 0, [(), (), ()]),
    ],
)
def test_every_worker_gets_its_share(
    workers: int, each: float, shares: list[tuple[str, ...]]
) -> None:
    assert share_devices(FOUR, workers, each) == shares


@pytest.mark.parametrize(
    ("workers", "each", "match"),
    [
        (5, 1, "5 workers with 1 GPU each would need 5, and there are 4"),
        (2, 3, "need 6"),
        (9, 0.5, "need 5"),
        (1, 1.5, "give 0, a fraction"),
        (1, -1, "give 0, a fraction"),
    ],
)
def test_what_there_is_not_is_refused(workers: int, each: float, match: str) -> None:
    with pytest.raises(Misuse, match=match):
        share_devices(FOUR, workers, each)


def test_devices_are_those_that_are_visible(tmp_path: Path) -> None:
    for name in ("nvidia10", "nvidia0", "nvidiactl", "nvidia-uvm", "tty"):
        (tmp_path / name).touch()
    assert find_devices({}, tmp_path) == ["0", "10"]
    assert find_devices({"CUDA_VISIBLE_DEVICES": "3, GPU-ab"}, tmp_path) == ["3", "GPU-ab"]
    assert find_devices({"CUDA_VISIBLE_DEVICES": ""}, tmp_path) == []


def test_threads_that_are_asked_for_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert worker_environment(Surroundings(), "t")["OMP_NUM_THREADS"] == "7"
    assert worker_environment(Surroundings(threads=3), "t")["OMP_NUM_THREADS"] == "3"


def surroundings(path: str) -> object:
    """A trainer that writes what it saw when it was made in its worker."""

    class Seeing:
        def __init__(self, config: dict[str, float]) -> None: ...

        def step(self) -> float:
            names = ("CUDA_VISIBLE_DEVICES", "BHPT_STUDY", "BHPT_ARM", "BHPT_EPOCH", "BHPT_SLOT")
            Path(path).write_text(" ".join(os.environ.get(name, "-") for name in names))
            return 1.0

        def save(self, folder: Path) -> None:
            (folder / "x").touch()

        def load(self, folder: Path) -> None: ...

    return Seeing


def test_a_worker_sees_its_devices_and_its_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    file = tmp_path / "seen"
    options = LocalOptions(gpus=2, variables={"BHPT_STUDY": "s.db"})
    with LocalExecutor(spec_of(surroundings(str(file))), 2, tmp_path / "logs", options) as executor:
        executor.start()
        job = Job(0, 3, {}, 1, 0, freeze_folder(tmp_path, 0))
        assert run(executor, job).failure is None
        first = file.read_text().split()
        assert first[1:4] == ["s.db", "3", "0"]
        assert first[0] == {"0": "4,5", "1": "6,7"}[first[4]]
        place = job.freeze_to
        later = Job(1, 4, {}, 1, 2, freeze_folder(tmp_path, 1), Resume.checkpoint(2, place))
        assert run(executor, later).failure is None
        assert file.read_text().split()[2:4] == ["4", "2"]


def test_too_few_devices_are_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    trainer = spec_of(surroundings(str(tmp_path / "x")))
    with pytest.raises(Misuse, match="2 workers with 1 GPU each would need 2"):
        LocalExecutor(trainer, 2, tmp_path / "logs", LocalOptions(gpus=1))


def test_where_there_is_no_gpu_the_option_is_named() -> None:
    with pytest.raises(Misuse, match=r"there is no GPU here .*: leave out gpus_per_worker"):
        share_devices((), 1, 0.5)
    assert share_devices((), 2, 0) == [(), ()]
