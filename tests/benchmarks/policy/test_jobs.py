"""Tables of jobs: what is drawn, trained and unpacked is what `bhpt bench` reads."""

import tarfile
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.policy.folds import FOUR, TWO, kinds_listed
from benchmarks.policy.jobs.__main__ import KINDS, made
from benchmarks.policy.jobs.job import write_table
from benchmarks.policy.jobs.ranges import Axis, draw_configs, draw_names, draw_ranges, renamed
from benchmarks.policy.tables import HERE as TABLES
from benchmarks.policy.tables import kinds, members, pack, rounded, tells_something, unpack

from bhpt.bench.left_out_kinds import drawn_of
from bhpt.bench.tasks import from_pair
from bhpt.domain import Misuse

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
    "elastic_net",
    "online_linear",
    "support_vectors",
    "clusters",
    "neighbour_map",
    "gradient_boosting",
    "xgboost_sklearn",
    "fast_text",
    "additive_model",
    "ant_colony",
    "plain_network",
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
    "plain_cnn",
    "residual_network",
    "vision_transformer",
    "text_classification",
    "sequence_labelling",
    "speech",
    "series_transformer",
    "tabular_network",
    "beta_vae",
    "deep_q",
    "actor_critic",
    "continuous_control",
    "seq2seq",
    "masked_words",
    "preferences",
    "scheduled_sgd",
    "scheduled_adamw",
    "tuned_transformer",
    "lora",
    "proximal",
    "two_towers",
    "next_item",
    "series_classes",
    "denoiser",
    "one_cycle",
    "experts",
    "state_space",
    "neural_ode",
    "image_text",
    "super_resolution",
    "splatting",
    "n_beats",
    "offline_control",
    "anomaly",
    "semi_supervised",
)


@pytest.mark.parametrize("kind", ["factorisation", "mixture", "clicks", "federated"])
def test_a_longer_training_has_more_units(kind: str, tmp_path: Path) -> None:
    for name in ("usual", "long"):
        (tmp_path / name).mkdir()
    made(kind, 3, 2, 0, tmp_path / "usual", float("inf"))
    made(kind, 3, 2, 0, tmp_path / "long", float("inf"), longer=3)
    usual, long = (from_pair(tmp_path / name, f"{kind}_003") for name in ("usual", "long"))
    assert long.epochs == 3 * usual.epochs
    assert long.hyperparameters == usual.hyperparameters


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


@pytest.mark.parametrize("seed", range(40))
def test_a_badly_centred_range_stays_within_the_outer_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = (
        Axis("dropout", (0.0, 0.1), (0.0, 0.8), always=True),
        Axis("noise", (0.05, 0.3), (0.0, 3.0), always=True),
        Axis("layers", (2, 4), (1, 40), whole=True, always=True),
    )
    for one, axis in zip(draw_ranges(rng, axes), axes, strict=True):
        assert axis.outer[0] <= one.low < one.high <= axis.outer[1]


@pytest.mark.parametrize("seed", range(10))
def test_a_mirrored_range_is_drawn_near_one(seed: int) -> None:
    axis = Axis("momentum", (0.03, 0.2), (1e-3, 1.0), log=True, always=True, mirrored=True)
    rng = np.random.default_rng(seed)
    ranges = draw_ranges(rng, (axis,))
    values = [config["momentum"] for config in draw_configs(rng, ranges, 100)]
    assert 0.0 <= min(values) < max(values) <= 0.999
    assert np.median(values) > (min(values) + max(values)) / 2


def test_every_kind_is_known_by_its_name() -> None:
    assert len(KINDS) >= 8


def test_the_tables_of_a_kind_can_be_unpacked_and_read(tmp_path: Path) -> None:
    count = unpack(tmp_path, ["grokking"])
    names = sorted(file.stem for file in tmp_path.glob("*.npz"))
    assert len(names) == count > 10
    assert from_pair(tmp_path, names[0]).kind == "grokking"


def test_the_tables_that_results_are_from_stay() -> None:
    text = (Path(__file__).parents[3] / "docs" / "results.md").read_text(encoding="utf-8")
    command = text[text.index("bhpt bench kinds") :].replace("\\\n", "").split()
    judged = command[command.index("--kinds") + 1].split(",")
    drawn: list[str] = []
    for kind in judged:
        with tarfile.open(TABLES / f"{kind}.tar.xz") as archive:
            names = [name.removesuffix(".npz") for name in archive.getnames() if "npz" in name]
        drawn += drawn_of(names, 12)
    assert len(drawn) == 504
    assert sha256(" ".join(sorted(drawn)).encode()).hexdigest()[:16] == "5c44eb44de9d4e8c"


def test_there_are_tables_of_many_kinds() -> None:
    assert len(kinds()) >= 14


def test_tables_are_packed_by_kind_and_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    loss = rng.lognormal(size=(9, 6)).astype(np.float32)
    loss[:, 0], loss[3, 4] = 5.0, np.nan
    configs = [{"lr": float(at + 1)} for at in range(9)]
    source, packed, again = tmp_path / "source", tmp_path / "packed", tmp_path / "again"
    for folder in (source, packed, again):
        folder.mkdir()
    words = {"metric": "loss", "kind": "toy", "how": "by hand"}
    write_table(source, "toy_000", words, configs, loss)
    write_table(source, "toy_001", words, configs, np.full_like(loss, 5.0))
    assert pack(source, packed) == {"toy": 1}
    first = (packed / "toy.tar.xz").read_bytes()
    assert pack(source, packed) == {"toy": 1}
    assert (packed / "toy.tar.xz").read_bytes() == first
    with tarfile.open(packed / "toy.tar.xz") as archive:
        archive.extractall(again, filter="data")
    task = from_pair(again, "toy_000")
    assert task.kind == "toy"
    np.testing.assert_allclose(task.losses, loss[:, 1:], rtol=1 / 8192)


def test_tables_that_are_added_leave_an_archive_as_it_is(tmp_path: Path) -> None:
    loss = np.random.default_rng(0).lognormal(size=(9, 6)).astype(np.float32)
    loss[:, 0] = 5.0
    configs = [{"lr": float(at + 1)} for at in range(9)]
    words = {"metric": "loss", "kind": "toy", "how": "by hand"}
    for name, numbers in (("first", (0, 1)), ("second", (1, 2))):
        (tmp_path / name).mkdir()
        for number in numbers:
            write_table(tmp_path / name, f"toy_{number:03d}", words, configs, loss * len(name))
    assert pack(tmp_path / "first", tmp_path) == {"toy": 2}
    held = members(tmp_path / "toy.tar.xz")
    assert pack(tmp_path / "second", tmp_path, beside=True) == {"toy": 3}
    now = members(tmp_path / "toy.tar.xz")
    assert {name: now[name] for name in held} == held
    assert {*now} - {*held} == {"toy_002.npz", "toy_002.json"}


def test_losses_are_rounded_to_a_part_in_8192_and_not_finite_ones_stay() -> None:
    loss = np.array([[1.0, -0.3, 1e30, 1e-30, np.inf, 0.0]], np.float32)
    np.testing.assert_allclose(rounded(loss), loss, rtol=1 / 8192)
    assert np.isnan(rounded(np.array([[np.nan]], np.float32))).all()


def test_a_table_whose_arms_do_not_improve_or_end_alike_tells_nothing() -> None:
    loss = np.tile(np.linspace(2.0, 1.0, 5, dtype=np.float32), (10, 1))
    assert not tells_something(loss)
    apart = loss * np.linspace(1.0, 1.5, 10, dtype=np.float32)[:, None]
    assert tells_something(apart)
    assert not tells_something(apart[:5])
    rises = apart[:, ::-1].copy()
    rises[:, 0] = 0.9
    assert not tells_something(rises)


def test_every_kind_is_in_one_fold_of_each_set_at_most() -> None:
    for folds in (TWO, FOUR):
        every = [kind for fold in folds.values() for kind in fold]
        assert len(every) == len({*every})
    assert {k for fold in TWO.values() for k in fold} <= {k for f in FOUR.values() for k in f}
    assert {k for k in kinds() if not k.startswith("network-")} <= {
        k for fold in FOUR.values() for k in fold
    }


def test_a_fold_stands_for_its_kinds() -> None:
    assert kinds_listed("") == ()
    assert kinds_listed("toy,fold:c,gan") == ("toy", *FOUR["c"])
    with pytest.raises(Misuse, match="no fold 'z': there are a, b, c"):
        kinds_listed("fold:z")
