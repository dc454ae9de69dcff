"""Tables of jobs: what is drawn, trained and unpacked is what `bhpt bench` reads."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.policy.jobs.__main__ import KINDS, made
from benchmarks.policy.jobs.ranges import Axis, draw_configs, draw_names, draw_ranges, renamed
from benchmarks.policy.tables import kinds, unpack

from bhpt.bench.tasks import from_pair

CHEAP = (
    "factorisation",
    "rl_tabular",
    "adaboost",
    "topics",
    "mixture",
    "embedding",
    "implicit",
    "clicks",
    "kernel_machine",
    "federated",
    "private",
    "chain",
    "population",
    "annealing",
    "strategies",
    "forest",
)
DEEP = (
    "gan",
    "flow",
    "coordinates",
    "physics",
    "gaussian_process",
    "graph",
    "facts",
    "ranking",
    "survival",
    "likeness",
    "segmentation",
    "detection",
    "recurrent",
    "tabular_transformer",
    "adapters",
)


@pytest.mark.parametrize("kind", CHEAP)
def test_a_table_is_what_the_benchmark_reads(kind: str, tmp_path: Path) -> None:
    assert made(kind, 3, 2, 0, tmp_path, float("inf"))
    task = from_pair(tmp_path, f"{kind}_003")
    assert task.arms == 2
    assert task.kind
    assert np.isfinite(task.losses).any()


def test_a_table_depends_on_its_number_and_seed_only(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        made("rl_tabular", 1, 5, 7, tmp_path / folder, float("inf"))
    one, other = (from_pair(tmp_path / folder, "rl_tabular_001") for folder in ("a", "b"))
    np.testing.assert_array_equal(one.losses, other.losses)


@pytest.mark.parametrize("kind", DEEP)
def test_a_deep_table_is_what_the_benchmark_reads(kind: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    words = f"--kinds {kind} --tables 1 --arms 3 --shrink 100 --device cpu --widen 2"
    import_module("benchmarks.policy.jobs.deep_tables").main(
        [*words.split(), "--out", str(tmp_path)]
    )
    torch.set_num_threads(threads)
    task = from_pair(tmp_path, f"{kind}_000")
    assert task.losses.shape == (3, 2)
    assert task.kind
    assert np.isfinite(task.losses).any()


def test_a_table_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    assert made("mixture", 1, 3, 7, tmp_path, float("inf"))
    (tmp_path / "mixture_001.npz").unlink()
    assert made("mixture", 1, 3, 7, tmp_path, float("inf")) == ""
    assert not (tmp_path / "mixture_001.npz").exists()


def test_a_table_writes_one_of_the_names_that_people_use() -> None:
    axes = (Axis("rate", also=("lr", "eta")), Axis("depth"))
    seen = set()
    for seed in range(40):
        names = draw_names(np.random.default_rng(seed), axes)
        (config,) = renamed([{"rate": 0.1, "depth": 3}], names)
        assert config.pop("depth") == 3
        seen |= {*config}
    assert seen == {"rate", "lr", "eta"}


def test_no_new_table_is_begun_when_time_is_up(tmp_path: Path) -> None:
    assert made("rl_tabular", 0, 4, 0, tmp_path, 0.0) == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", range(20))
def test_ranges_lie_within_the_outer_interval_and_hold_different_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = (
        Axis("rate", (1e-3, 1e-2), (1e-5, 1.0), log=True, always=True),
        Axis("leaves", (8, 64), (2, 256), log=True, whole=True),
        Axis("mode", values=("a", "b")),
    )
    ranges = draw_ranges(rng, axes)
    assert ranges[0].name == "rate"
    configs = draw_configs(rng, ranges, 12)
    rates = [config["rate"] for config in configs]
    assert min(rates) >= 0.9e-5
    assert max(rates) <= 1.1
    assert len({tuple(config.values()) for config in configs}) == len(configs)


def test_every_kind_is_known_by_its_name() -> None:
    assert len(KINDS) >= 8


def test_the_tables_of_a_kind_can_be_unpacked_and_read(tmp_path: Path) -> None:
    count = unpack(tmp_path, ["grokking"])
    names = sorted(file.stem for file in tmp_path.glob("*.npz"))
    assert len(names) == count > 10
    assert from_pair(tmp_path, names[0]).kind == "grokking"


def test_there_are_tables_of_many_kinds() -> None:
    assert len(kinds()) >= 14
