"""The tuning tasks: what is trained, for how long, and the ranges that configurations come from.

A configuration is drawn value by value from one random stream, in a fixed order: seed 0 gives
exactly the configurations of the tables that the project keeps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Config = dict[str, Any]
Draw = Callable[[np.random.Generator, int], Config]

ERROR_RATE = "held-out error rate"
NEGATIVE_ELBO = "held-out negative ELBO (nats)"

# the held-out measures that go with a metric; `loss` is the metric itself
MEASURES = {ERROR_RATE: ("loss", "cross_entropy"), NEGATIVE_ELBO: ("loss",)}


@dataclass(frozen=True)
class Task:
    """One table to be trained.

    Attributes:
        name: Name of the table, and of its two files.
        dataset: `cifar10` or `mnist`.
        draw: Draws the configuration of an arm, given the random stream and the arm's number.
        arms: K, how many configurations.
        epochs: T, for how many epochs each is trained.
        epochs_per_unit: Epochs in one unit of a tuner's budget.
        metric: What the array `loss` holds.
        about: One sentence on the networks, for the table's `how`.
        model: Settings of the network that no arm varies; a configuration may override them.
    """

    name: str
    dataset: str
    draw: Draw
    arms: int
    epochs: int
    epochs_per_unit: int
    metric: str
    about: str
    model: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Arm:
    """A configuration together with the seed of its initial weights."""

    config: Config
    seed: int


def draw_arms(task: Task, arms: int, seed: int) -> list[Arm]:
    """The first configurations of a task under a seed; fewer arms are a prefix of more.

    Args:
        task: The task.
        arms: How many to draw.
        seed: Seed of the random stream.

    Returns:
        One arm each, in order.
    """
    stream = np.random.default_rng(seed)
    return [
        Arm(config=task.draw(stream, number), seed=int(stream.integers(2**31)))
        for number in range(arms)
    ]


def _pick(stream: np.random.Generator, values: tuple[Any, ...]) -> Any:  # noqa: ANN401
    return stream.choice(np.array(values)).item()


def _draw_convolutional(stream: np.random.Generator) -> Config:
    optimizer = _pick(stream, ("sgd", "momentum", "adagrad"))
    return {
        "optimizer": optimizer,
        "batch_size": _pick(stream, (64, 128)),
        "lr": _pick(stream, (0.01, 0.05, 0.1, 0.5, 1.0)),
        "momentum": _pick(stream, (0.5, 0.9)) if optimizer == "momentum" else 0.0,
        "decay": _pick(stream, (0.85, 0.9, 0.95, 0.98, 1.0)),
    }


def _draw_resnet(stream: np.random.Generator, number: int) -> Config:  # noqa: ARG001
    return _draw_convolutional(stream)


RESNETS = 24  # arms of an architecture task that are ResNets; the rest are AlexNets


def _draw_architecture(stream: np.random.Generator, number: int) -> Config:
    arch = "resnet" if number < RESNETS else "alexnet"
    return {"arch": arch, **_draw_convolutional(stream)}


@dataclass(frozen=True)
class Steps:
    """Ranges of one family in `arch2_cifar10`: how long its steps are, how they grow and shrink.

    Attributes:
        batch_size: Values of the batch size.
        lr: Least and greatest learning rate, drawn log-uniformly.
        decay: Least and greatest factor on the learning rate an epoch, drawn uniformly.
        momentum: Values of the momentum.
        warmup: Values of the number of epochs over which the learning rate rises.
    """

    batch_size: tuple[int, ...]
    lr: tuple[float, float]
    decay: tuple[float, float]
    momentum: tuple[float, ...]
    warmup: tuple[int, ...]


# ResNets warm up and their steps hardly shrink: slow, and low in the end. The steps of AlexNets
# halve about every epoch: fast, and done after ten epochs.
STEPS = {
    "resnet": Steps((128,), lr=(0.01, 0.05), decay=(0.94, 0.98), momentum=(0.9,), warmup=(3, 4, 5)),
    "alexnet": Steps((32, 64), (0.005, 0.03), (0.45, 0.65), momentum=(0.5, 0.9), warmup=(0,)),
}


def paced(families: Mapping[str, Steps]) -> Draw:
    """How to draw the arms of two families, ResNets and AlexNets, each from its own ranges."""

    def draw(stream: np.random.Generator, number: int) -> Config:
        arch = "resnet" if number < RESNETS else "alexnet"
        steps = families[arch]
        low, high = np.log10(steps.lr)
        return {
            "arch": arch,
            "optimizer": "momentum",
            "batch_size": _pick(stream, steps.batch_size),
            "lr": float(10 ** stream.uniform(low, high)),
            "momentum": _pick(stream, steps.momentum),
            "decay": float(stream.uniform(*steps.decay)),
            "warmup": _pick(stream, steps.warmup),
        }

    return draw


def _draw_fully_connected(stream: np.random.Generator, number: int) -> Config:  # noqa: ARG001
    return {
        "lr": float(10 ** stream.uniform(-4, -0.5)),
        "decay": float(stream.uniform(0.9, 1.0)),
        "momentum": float(stream.uniform(0.3, 0.99)),
        "batch_size": int(2 ** stream.integers(5, 10)),
        "units1": int(2 ** stream.integers(4, 10)),
        "units2": int(2 ** stream.integers(4, 10)),
        "drop1": float(stream.uniform(0, 0.8)),
        "drop2": float(stream.uniform(0, 0.8)),
        "act1": _pick(stream, ("relu", "tanh")),
        "act2": _pick(stream, ("relu", "tanh")),
    }


def _draw_autoencoder(stream: np.random.Generator, number: int) -> Config:  # noqa: ARG001
    return {
        "lr": float(10 ** stream.uniform(-4.5, -1.5)),
        "batch_size": int(2 ** stream.integers(4, 10)),
        "units": int(2 ** stream.integers(5, 11)),
        "latent": int(2 ** stream.integers(1, 7)),
    }


_TASKS = (
    Task(
        name="resnet_cifar10",
        dataset="cifar10",
        draw=_draw_resnet,
        arms=96,
        epochs=39,
        epochs_per_unit=1,
        metric=ERROR_RATE,
        about="ResNet-14 (3 stages of 2 blocks, 16/32/64 channels).",
        model={"arch": "resnet", "blocks": 2, "width": 16},
    ),
    Task(
        name="arch_cifar10",
        dataset="cifar10",
        draw=_draw_architecture,
        arms=49,
        epochs=39,
        epochs_per_unit=1,
        metric=ERROR_RATE,
        about="24 ResNet-14 (the first 24 of resnet_cifar10) and 25 AlexNet-style networks "
        "(5 convolutions, 3 fully connected layers, no batch norm), same data and ranges.",
        model={"blocks": 2, "width": 16, "batch_norm": False, "filters": 64},
    ),
    Task(
        name="arch2_cifar10",
        dataset="cifar10",
        draw=paced(STEPS),
        arms=49,
        epochs=48,
        epochs_per_unit=4,
        metric=ERROR_RATE,
        about="24 ResNet-20 (3 stages of 3 blocks, 32/64/128 channels) that warm up and whose "
        "steps hardly shrink, and 25 narrow AlexNet-style networks (5 convolutions with batch "
        "norm, 3 fully connected layers) whose steps soon shrink: the ResNets learn slowly and "
        "end lower. The ranges were chosen by a pilot so that the families cross early.",
        model={"blocks": 3, "width": 32, "batch_norm": True, "filters": 32},
    ),
    Task(
        name="fcnet_mnist",
        dataset="mnist",
        draw=_draw_fully_connected,
        arms=50,
        epochs=100,
        epochs_per_unit=10,
        metric=ERROR_RATE,
        about="Two-layer fully connected network, momentum SGD.",
        model={"arch": "fcnet", "optimizer": "momentum"},
    ),
    Task(
        name="vae_mnist",
        dataset="mnist",
        draw=_draw_autoencoder,
        arms=49,
        epochs=49,
        epochs_per_unit=1,
        metric=NEGATIVE_ELBO,
        about="Variational auto-encoder, Adam.",
        model={"arch": "vae", "optimizer": "adam"},
    ),
)

TASKS = {task.name: task for task in _TASKS}
