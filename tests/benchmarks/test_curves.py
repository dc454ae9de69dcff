"""The code that trains the tables: ranges, files, and with PyTorch a few steps on the CPU."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.curves.data import Images, pack, read_cifar10, read_images, write_images
from benchmarks.curves.exchange import Table, read_table, write_table
from benchmarks.curves.schedule import group_alike, interleave, rate_in
from benchmarks.curves.tasks import STEPS, TASKS, draw_arms

import bhpt

# modules that import PyTorch are loaded by name: mypy runs where it is not installed
main: Any = import_module("benchmarks.curves.__main__").main

PACKAGED = Path(bhpt.__file__).parent / "bench" / "data"

RESNET = {"arch": "resnet", "blocks": 1, "width": 4, "optimizer": "momentum", "momentum": 0.9}
ARMS = [
    {**RESNET, "batch_size": 16, "lr": 0.05, "decay": 0.9},
    {**RESNET, "batch_size": 32, "lr": 0.01, "decay": 1.0, "optimizer": "adagrad"},
    {"arch": "alexnet", "optimizer": "adam", "batch_size": 32, "lr": 0.001, "decay": 0.9},
]
EPOCHS = 2


def random_images(count: int, side: int, channels: int) -> Images:
    stream = np.random.default_rng(0)

    def part() -> tuple[Any, Any]:
        shape = (count, side, side, channels)
        return stream.integers(0, 256, shape, np.uint8), stream.integers(0, 10, count, np.uint8)

    return Images(*part(), *part())


def small_table(arms: int = 2, epochs: int = 3) -> Table:
    stream = np.random.default_rng(0)
    arrays = {
        "loss": stream.random((arms, epochs + 1), np.float32),
        "seconds": stream.random((arms, epochs), np.float32),
    }
    return Table([{"lr": 0.1 / (arm + 1)} for arm in range(arms)], arrays, "error", 1, "by hand")


# ---------------------------------------------------------------- ranges


@pytest.mark.parametrize("name", sorted(TASKS))
def test_seed_0_draws_the_configurations_of_the_kept_table(name: str) -> None:
    path = PACKAGED / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{name} is not among the packaged tables")
    kept = json.loads(path.read_text(encoding="utf-8"))
    task = TASKS[name]
    assert [arm.config for arm in draw_arms(task, task.arms, 0)] == kept["configs"]
    assert task.epochs_per_unit == kept["epochs_per_unit"]
    assert task.metric == kept["metric"]


def test_second_architecture_task_stays_inside_its_ranges() -> None:
    task = TASKS["arch2_cifar10"]
    for seed in range(20):
        configs = [arm.config for arm in draw_arms(task, task.arms, seed)]
        assert [config["arch"] for config in configs] == ["resnet"] * 24 + ["alexnet"] * 25
        for config in configs:
            steps = STEPS[config["arch"]]
            assert steps.lr[0] <= config["lr"] <= steps.lr[1]
            assert steps.decay[0] <= config["decay"] <= steps.decay[1]
            assert config["momentum"] in steps.momentum
            assert config["batch_size"] in steps.batch_size
            assert config["warmup"] in steps.warmup


def test_fewer_arms_are_a_prefix_and_seeds_differ() -> None:
    task = TASKS["fcnet_mnist"]
    assert draw_arms(task, 3, 7) == draw_arms(task, 8, 7)[:3]
    assert draw_arms(task, 3, 7) != draw_arms(task, 3, 8)


def test_in_the_kept_second_table_the_slow_family_overtakes_the_fast_one() -> None:
    table = read_table(PACKAGED, "arch2_cifar10")
    loss, unit = table.arrays["loss"], table.epochs_per_unit
    epochs = loss.shape[1] - 1
    assert epochs == TASKS["arch2_cifar10"].epochs
    assert epochs % unit == 0
    arch = np.array([config["arch"] for config in table.configs])
    slow, fast = loss[arch == "resnet"], loss[arch == "alexnet"]
    for of_family in (np.min, np.median):
        low, high = of_family(slow, axis=0), of_family(fast, axis=0)
        assert (high[1 : unit + 1] < low[1 : unit + 1]).all(), "behind in the first unit"
        assert high[unit] < low[unit] - 0.05
        assert (low[2 * unit :] < high[2 * unit :] - 0.01).all(), "ahead from the second unit on"
        assert low[-1] < high[-1] - 0.15
    assert table.arrays["seconds"].shape == (49, epochs)
    assert (table.arrays["seconds"] > 0).all()


# ---------------------------------------------------------------- schedule


def test_groups_hold_each_arm_once_and_like_with_like() -> None:
    configs = [{"arch": arch, "batch_size": 64} for arch in ("b", "a", "b", "a", "b")]
    assert group_alike(configs, [0, 1, 3, 4], 2) == [[1, 3], [0, 4]]
    assert group_alike(configs, [], 2) == []
    with pytest.raises(ValueError, match="at least one model"):
        group_alike(configs, [0], 0)


def test_interleaved_steps_come_in_order_and_evenly() -> None:
    steps = [7, 3, 1]
    order = list(interleave(steps))
    for model, count in enumerate(steps):
        assert [step for who, step in order if who == model] == list(range(count))
    half = [model for model, _ in order[: len(order) // 2]]
    assert half.count(0) >= 3
    assert half.count(1) >= 1
    assert list(interleave([])) == []


def test_the_learning_rate_rises_then_falls() -> None:
    assert rate_in({"lr": 0.1}, 7) == 0.1
    assert rate_in({"lr": 0.1, "decay": 0.5}, 2) == pytest.approx(0.025)
    settings = {"lr": 0.4, "decay": 0.5, "warmup": 3}
    rates = [rate_in(settings, epoch) / 0.5**epoch for epoch in range(5)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4])


# ---------------------------------------------------------------- files


def test_table_survives_being_written_and_read(tmp_path: Path) -> None:
    table = small_table()
    write_table(table, tmp_path / "new", "some")
    again = read_table(tmp_path / "new", "some")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["some.json", "some.npz"]
    assert (again.configs, again.metric, again.epochs_per_unit, again.how) == (
        table.configs,
        table.metric,
        table.epochs_per_unit,
        table.how,
    )
    for name, array in table.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)


def test_table_refuses_arrays_that_do_not_fit() -> None:
    table = small_table()
    with pytest.raises(ValueError, match="'loss'"):
        Table(table.configs, {"seconds": table.arrays["seconds"]}, "error", 1, "by hand")
    with pytest.raises(ValueError, match="one row for each of 1"):
        Table(table.configs[:1], table.arrays, "error", 1, "by hand")


def test_mnist_package_is_packed_and_read_again(tmp_path: Path) -> None:
    pixels = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)
    (tmp_path / "data").mkdir()
    header = bytes([0, 0, 8, 3]) + np.array([3, 28, 28], ">u4").tobytes()
    (tmp_path / "data" / "train-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
    header = bytes([0, 0, 8, 1]) + np.array([3], ">u4").tobytes()
    (tmp_path / "data" / "train-labels-idx1-ubyte").write_bytes(header + bytes([5, 0, 4]))
    write_images(pack("mnist", tmp_path).first(2, None), tmp_path / "out" / "mnist.npz")
    images = read_images(tmp_path / "out" / "mnist.npz")
    np.testing.assert_array_equal(images.train[..., 0], pixels[:2])
    assert images.train_labels.tolist() == [5, 0]
    assert len(images.held_out) == 0


def test_cifar_package_is_read(tmp_path: Path) -> None:
    picture = pytest.importorskip("PIL.Image", reason="reading PNG files needs Pillow")
    images = random_images(10, 32, 3).train
    for number in range(5):
        rows = images[2 * number : 2 * number + 2].reshape(2, 1024, 3)
        picture.fromarray(rows).save(tmp_path / f"data_batch_{number + 1}.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(list(range(10))))
    read, labels = read_cifar10(tmp_path)
    np.testing.assert_array_equal(read, images)
    assert labels.tolist() == list(range(10))


# ---------------------------------------------------------------- training


@pytest.fixture
def torch() -> Any:
    module: Any = pytest.importorskip("torch", reason="training networks needs PyTorch")
    module.set_num_threads(1)
    return module


class Bench:
    """A folder with a few random images and tiny networks to train on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_images(random_images(64, 32, 3), folder / "images.npz")
        (folder / "configs.json").write_text(json.dumps(ARMS), encoding="utf-8")

    def train(self, out: str, *options: str) -> int:
        files = ("--data", "images.npz"), ("--configs", "configs.json"), ("--out", out)
        paths = [part for option, name in files for part in (option, str(self.folder / name))]
        tail = ["--epochs", str(EPOCHS), "--device", "cpu", *options]
        return int(main(["train", "arch2_cifar10", *paths, *tail]))

    def table(self, out: str) -> Table:
        return read_table(self.folder / out, "arch2_cifar10")


@pytest.fixture
def bench(torch: Any, tmp_path: Path) -> Bench:
    assert torch
    return Bench(tmp_path)


def test_training_writes_whole_and_finite_curves(bench: Bench) -> None:
    assert bench.train("a") == 0
    table = bench.table("a")
    shapes = {name: array.shape for name, array in table.arrays.items()}
    curve, epochs = (len(ARMS), EPOCHS + 1), (len(ARMS), EPOCHS)
    assert shapes == {
        "loss": curve,
        "cross_entropy": curve,
        "train_loss": curve,
        "seconds": epochs,
    }
    assert table.configs == ARMS
    assert table.metric == "held-out error rate"
    assert np.isnan(table.arrays["train_loss"][:, 0]).all(), "nothing was trained on yet"
    for name in ("loss", "cross_entropy", "seconds"):
        assert np.isfinite(table.arrays[name]).all()
    assert np.isfinite(table.arrays["train_loss"][:, 1:]).all()
    assert ((table.arrays["loss"] >= 0) & (table.arrays["loss"] <= 1)).all()
    assert (table.arrays["seconds"] > 0).all()
    assert (table.arrays["cross_entropy"][:, 0] != table.arrays["cross_entropy"][:, -1]).all()


def test_a_seed_reproduces_the_curves_however_they_are_grouped(bench: Bench) -> None:
    assert bench.train("a", "--seed", "3") == 0
    assert bench.train("b", "--seed", "3", "--slots", "1") == 0
    assert bench.train("c", "--seed", "4") == 0
    first, second, other = (bench.table(out).arrays["cross_entropy"] for out in "abc")
    np.testing.assert_array_equal(first, second)
    assert (first != other).all()


def test_a_table_is_completed_where_it_was_left(bench: Bench) -> None:
    assert bench.train("a") == 0
    whole = bench.table("a")
    begun = {name: array.copy() for name, array in whole.arrays.items()}
    begun["seconds"][1] = np.nan
    begun["cross_entropy"][1] = np.nan
    begun["cross_entropy"][0] = 7
    write_table(
        Table(whole.configs, begun, whole.metric, 1, whole.how), bench.folder / "a", "arch2_cifar10"
    )
    assert bench.train("a", "--resume") == 0
    completed = bench.table("a").arrays["cross_entropy"]
    assert (completed[0] == 7).all(), "an arm that was done is kept"
    np.testing.assert_array_equal(completed[1:], whole.arrays["cross_entropy"][1:])
    with pytest.raises(ValueError, match="other configurations"):
        bench.train("a", "--resume", "--arms", "2")


def test_what_the_time_limit_leaves_over_is_told(bench: Bench) -> None:
    assert bench.train("a", "--limit", "-1", "--resume") == 3


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", ["fcnet_mnist", "vae_mnist"])
def test_the_grey_tasks_train(name: str, tmp_path: Path) -> None:
    write_images(random_images(512, 28, 1), tmp_path / "images.npz")
    out = ["--data", str(tmp_path / "images.npz"), "--out", str(tmp_path)]
    assert main(["train", name, *out, "--arms", "2", "--epochs", "1", "--device", "cpu"]) == 0
    arrays = read_table(tmp_path, name).arrays
    assert arrays["loss"].shape == (2, 2)
    assert np.isfinite(arrays["loss"]).all()
    assert ("cross_entropy" in arrays) == (name == "fcnet_mnist")


def test_flat_parameters_leave_the_network_as_it_was(torch: Any) -> None:
    models: Any = import_module("benchmarks.curves.models")
    flat: Any = import_module("benchmarks.curves.flat")
    torch.manual_seed(0)
    network = models.ResNet(1, 4)
    x = torch.randn(2, 3, 32, 32)
    network.eval()
    before = network(x).detach().clone()
    buffers = flat.FlatParameters(network)
    assert torch.allclose(before, network(x), atol=1e-6)
    network(x).sum().backward()
    gathered = sum(float(p.grad.square().sum()) for p in network.parameters())
    assert gathered == pytest.approx(float(buffers.gradients.square().sum()), rel=1e-5)
    assert gathered > 0


def test_the_optimisers_agree_with_pytorch(torch: Any) -> None:
    flat: Any = import_module("benchmarks.curves.flat")
    theirs_of: dict[str, Any] = {
        "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
        "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01, initial_accumulator_value=0.1),
        "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    }
    x = torch.randn(8, 3)
    for name, make in theirs_of.items():
        ours, theirs = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        theirs.load_state_dict(ours.state_dict())
        buffers = flat.FlatParameters(ours)
        mine = flat.optimizer_of({"optimizer": name, "momentum": 0.9}, buffers)
        mine.rate.fill_(0.01)
        other = make(theirs.parameters())
        for _ in range(4):
            buffers.gradients.zero_()
            ours(x).square().mean().backward()
            mine.step()
            other.zero_grad()
            theirs(x).square().mean().backward()
            other.step()
        for one, two in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.allclose(one, two, atol=1e-6), name


def test_augmented_images_are_shifted_and_mirrored_originals(torch: Any) -> None:
    training: Any = import_module("benchmarks.curves.training")
    stream = torch.Generator().manual_seed(0)
    flat_image = torch.full((16, 3, 32, 32), 2.0)
    assert torch.equal(training.augment(flat_image, stream), flat_image)
    ramp = torch.arange(32.0).expand(16, 3, 32, 32)
    made = training.augment(ramp, stream)
    assert made.shape == ramp.shape
    slopes = (made[:, 0, 0, 16] - made[:, 0, 0, 15]).tolist()
    assert sorted(set(slopes)) == [-1.0, 1.0]
    assert (made[:, 0, 0, 15] - ramp[:, 0, 0, 15]).abs().max() <= 5
