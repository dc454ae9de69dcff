"""Trainings written in numpy: a network, a matrix factorisation, an auto-encoder."""

import numpy as np

from bhpt.bench.live.job import Pickled, generated_classes, log_loss
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import Config

_CLASSES = generated_classes(0, 600, 16, 4)


class NumpyNetwork(Pickled):
    """One hidden layer, gradient descent with momentum on batches."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        width, scale = int(config["width"]), float(config["init_scale"])
        shapes = [(_CLASSES.x.shape[1], width), (width, _CLASSES.classes)]
        self.weights = [scale * self.rng.standard_normal(s) / np.sqrt(s[0]) for s in shapes]
        self.speed = [np.zeros(s) for s in shapes]

    def step(self) -> float:
        """Train one epoch; returns the validation loss."""
        order = self.rng.permutation(len(_CLASSES.x))
        size = int(self.config["batch_size"])
        with np.errstate(all="ignore"):
            for begin in range(0, len(order), size):
                self._batch(order[begin : begin + size])
            return log_loss(_CLASSES.held_y, self._forward(_CLASSES.held_x)[1])

    def _forward(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        hidden = np.tanh(x @ self.weights[0])
        scores = hidden @ self.weights[1]
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, chances / chances.sum(axis=1, keepdims=True)

    def _batch(self, rows: IntArray) -> None:
        x, y = _CLASSES.x[rows], _CLASSES.y[rows]
        hidden, off = self._forward(x)
        off[np.arange(len(y)), y] -= 1
        inner = off @ self.weights[1].T * (1 - hidden**2)
        slopes = [x.T @ inner / len(y), hidden.T @ off / len(y)]
        rate, momentum = float(self.config["lr"]), float(self.config["momentum"])
        decay = float(self.config["weight_decay"])
        for place, slope in enumerate(slopes):
            push = rate * (slope + decay * self.weights[place])
            self.speed[place] = momentum * self.speed[place] - push
            self.weights[place] = self.weights[place] + self.speed[place]


def _ratings() -> tuple[FloatArray, FloatArray]:
    """Rows of user, item and rating to train on and to measure on."""
    rng = np.random.default_rng(2)
    users, items = rng.standard_normal((60, 4)), rng.standard_normal((80, 4))
    pairs = np.column_stack([rng.integers(60, size=3000), rng.integers(80, size=3000)])
    values = np.einsum("nd,nd->n", users[pairs[:, 0]], items[pairs[:, 1]]) / 2
    rows = np.column_stack([pairs, values + 0.3 * rng.standard_normal(3000)])
    return rows[:2000], rows[2000:]


_TRAIN, _HELD = _ratings()


class Factorisation(Pickled):
    """Users and items as vectors whose products are ratings, by gradient descent."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(3)
        rank, scale = int(config["rank"]), float(config["init_scale"])
        self.users = scale * self.rng.standard_normal((60, rank))
        self.items = scale * self.rng.standard_normal((80, rank))

    def step(self) -> float:
        """Train one epoch; returns the validation squared error."""
        size = int(self.config["batch_size"])
        order = self.rng.permutation(len(_TRAIN))
        with np.errstate(all="ignore"):
            for begin in range(0, len(order), size):
                self._batch(_TRAIN[order[begin : begin + size]])
            return float(np.mean((_HELD[:, 2] - self._guess(_HELD)) ** 2))

    def _guess(self, rows: FloatArray) -> FloatArray:
        users, items = rows[:, 0].astype(int), rows[:, 1].astype(int)
        return np.asarray(np.einsum("nd,nd->n", self.users[users], self.items[items]))

    def _batch(self, rows: FloatArray) -> None:
        users, items = rows[:, 0].astype(int), rows[:, 1].astype(int)
        off = (self._guess(rows) - rows[:, 2])[:, None]
        rate, decay = float(self.config["lr"]), float(self.config["reg"])
        slopes = (off * self.items[items], off * self.users[users])
        np.add.at(self.users, users, -rate * (slopes[0] + decay * self.users[users]))
        np.add.at(self.items, items, -rate * (slopes[1] + decay * self.items[items]))


class Autoencoder(Pickled):
    """A bottleneck with tied tanh layers, Adam on all examples in a few batches."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(4)
        width = int(config["code_size"])
        self.weights = self.rng.standard_normal((16, width)) * float(config["init_scale"])
        self.moments = [np.zeros_like(self.weights), np.zeros_like(self.weights)]
        self.updates = 0

    def step(self) -> float:
        """Train one epoch; returns the validation squared error."""
        x, size = _CLASSES.x @ _MIX, int(self.config["batch_size"])
        order = self.rng.permutation(len(x))
        with np.errstate(all="ignore"):
            for begin in range(0, len(order), size):
                self._batch(x[order[begin : begin + size]])
            held = _CLASSES.held_x @ _MIX
            return float(np.mean((np.tanh(held @ self.weights) @ self.weights.T - held) ** 2))

    def _batch(self, x: FloatArray) -> None:
        code = np.tanh(x @ self.weights)
        off = code @ self.weights.T - x
        inner = (off @ self.weights) * (1 - code**2)
        slope = 2 * (off.T @ code + x.T @ inner) / x.size
        self.updates += 1
        means = (1 - float(self.config["one_minus_beta1"]), 0.99)
        self.moments[0] = means[0] * self.moments[0] + (1 - means[0]) * slope
        self.moments[1] = means[1] * self.moments[1] + (1 - means[1]) * slope**2
        first = self.moments[0] / (1 - means[0] ** self.updates)
        second = self.moments[1] / (1 - means[1] ** self.updates)
        self.weights = self.weights - float(self.config["lr"]) * first / (np.sqrt(second) + 1e-8)


_MIX = np.random.default_rng(5).standard_normal((16, 16)) @ np.diag(np.linspace(1.5, 0.1, 16)) / 4
