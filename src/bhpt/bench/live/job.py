"""What a live job is: a trainer, the space that it is tuned in, and a sensible configuration."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bhpt.domain import FloatArray, IntArray


class Trainable(Protocol):
    """A model in training."""

    def step(self) -> float:
        """Train one epoch; returns the validation loss."""
        ...


class TrainerClass(Protocol):
    """Makes a model from a configuration; workers import it by name."""

    def __call__(self, config: dict[str, Any]) -> Trainable:
        """The untrained model."""
        ...


class Pickled:
    """Saving and loading for trainers that pickle; the files are the benchmark's own."""

    def save(self, folder: Path) -> None:
        """Write everything."""
        (folder / "model.pickle").write_bytes(pickle.dumps(self.__dict__))

    def load(self, folder: Path) -> None:
        """Read it back."""
        self.__dict__.update(pickle.loads((folder / "model.pickle").read_bytes()))


@dataclass(frozen=True, eq=False)
class LiveJob:
    """A training that is tuned for real.

    Attributes:
        name: What a person types.
        trainer: Where its class is, `module:name`.
        package: What has to be installed for it.
        space: What may be tuned, in short form.
        first: A sensible configuration to begin with.
        epochs: T, epochs of a full training.
    """

    name: str
    trainer: str
    package: str
    space: dict[str, Any]
    first: dict[str, Any]
    epochs: int


@dataclass(frozen=True, eq=False)
class Classes:
    """Examples of several classes to train on and to measure on.

    Attributes:
        x: Inputs, [N, D].
        y: Classes from 0, [N].
        held_x: Inputs to measure on.
        held_y: Their classes.
        classes: How many.
    """

    x: FloatArray
    y: IntArray
    held_x: FloatArray
    held_y: IntArray
    classes: int


def generated_classes(seed: int, count: int, features: int, classes: int) -> Classes:
    """Classes by a random smooth function of half of the inputs, a tenth of them wrong."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2 * count, features))
    hidden = np.tanh(1.5 * x[:, : features // 2] @ rng.standard_normal((features // 2, 12)) / 2)
    y = (hidden @ rng.standard_normal((12, classes))).argmax(axis=1)
    wrong = rng.random(2 * count) < 0.1
    y[wrong] = rng.integers(classes, size=int(wrong.sum()))
    return Classes(x[:count], y[:count], x[count:], y[count:], classes)


def log_loss(y: IntArray, chances: FloatArray) -> float:
    """Mean negative logarithm of the chance of the right class; capped where it is 0."""
    right = chances[np.arange(len(y)), y]
    return float(-np.log(np.clip(right, 1e-9, 1.0)).mean())
