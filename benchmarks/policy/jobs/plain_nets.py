"""Small networks as people write them themselves: plain gradient descent in a few lines of numpy.

Unlike scikit-learn's, their inputs are often left between 0 and 1, batches are small and the rate
is that of plain gradient descent, so that good rates are higher; and names are short.

Notation:
    N  examples, D  inputs, B  examples of a batch, C  outputs.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from .data import Floats, Tabular, draw_tabular
from .job import Job, log_loss, squared
from .ranges import Axis, Config

AXES = (
    Axis(
        "learning_rate",
        (0.02, 0.5),
        (1e-4, 4.0),
        log=True,
        always=True,
        also=("rate", "lr", "eta", "step_size", "alpha"),
    ),
    Axis("momentum", (0.3, 0.95), (0.0, 0.995), also=("mu", "beta", "mom")),
    Axis(
        "hidden",
        (16, 96),
        (2, 256),
        log=True,
        whole=True,
        also=("hidden_units", "n_hidden", "width", "hidden_size", "neurons"),
    ),
    Axis(
        "batch_size",
        (8, 64),
        (4, 512),
        log=True,
        whole=True,
        also=("batch", "minibatch", "mini_batch_size", "bs"),
    ),
    Axis(
        "decay",
        (1e-6, 1e-3),
        (1e-8, 0.3),
        log=True,
        also=("weight_decay", "l2", "reg", "lambda", "l2_penalty"),
    ),
    Axis("activation", values=("tanh", "relu", "sigmoid"), also=("nonlinearity", "act")),
    Axis(
        "init_scale",
        (0.5, 2.0),
        (0.01, 10.0),
        log=True,
        also=("init", "weight_scale", "init_std"),
    ),
    Axis("layers", (1, 2), (1, 4), whole=True, also=("n_layers", "depth", "num_layers")),
    Axis(
        "rate_decay",
        (1e-4, 0.02),
        (1e-6, 1.0),
        log=True,
        also=("lr_decay", "annealing", "decay_rate"),
    ),
)
_ACTIVATIONS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "tanh": (np.tanh, lambda out: 1.0 - out**2),
    "relu": (lambda x: np.maximum(x, 0.0), lambda out: (out > 0).astype(float)),
    "sigmoid": (lambda x: 0.5 + 0.5 * np.tanh(x / 2), lambda out: out * (1.0 - out)),
}
"""Each with its slope, from what it gives."""


def plain_network(rng: np.random.Generator, longer: int = 1) -> Job:
    """A network of one to four layers on small pictures or a table of numbers."""
    data = _pictures(rng) if rng.random() < 0.4 else _scaled(rng, _table(rng))
    units = longer * int(rng.integers(8, 46))

    def train(config: Config, seed: int) -> list[float]:
        network = _Network(config, data, seed)
        losses = [network.loss()]
        with np.errstate(all="ignore"):  # a rate that diverges gives NaN
            for _ in range(units):
                network.epoch()
                losses.append(network.loss())
        return losses

    return Job("plain-network", data.loss_name, units, data.about, AXES, train)


def _table(rng: np.random.Generator) -> Tabular:
    """A table of numbers; never the digits, which the example of this package is judged on."""
    data = draw_tabular(rng, 1200)
    while data.about == "digits":
        data = draw_tabular(rng, 1200)
    return data


def _scaled(rng: np.random.Generator, data: Tabular) -> Tabular:
    """The same data, its inputs standardised, from 0 to 1, or on scales of their own."""
    way = str(rng.choice(["standardised", "from 0 to 1", "of several scales"], p=[0.4, 0.4, 0.2]))
    low, high = data.x.min(axis=0), data.x.max(axis=0)
    spread = np.maximum(high - low, 1e-9)
    sizes = np.exp(0.7 * rng.standard_normal(data.x.shape[1]))

    def scaled(x: Floats) -> Floats:
        if way == "standardised":
            return x
        return np.asarray((x - low) / spread if way == "from 0 to 1" else x * sizes)

    about = f"{data.about}, inputs {way}"
    return Tabular(scaled(data.x), data.y, scaled(data.held_x), data.held_y, data.classes, about)


def _pictures(rng: np.random.Generator) -> Tabular:
    """Small pictures, from 0 to 1: blurred strokes of each class, moved and with noise."""
    side, classes = int(rng.integers(6, 13)), int(rng.integers(3, 11))
    count = int(np.exp(rng.uniform(np.log(300), np.log(1500))))
    drawn = np.stack([_glyph(rng, side) for _ in range(classes)])
    y = rng.integers(classes, size=2 * count)
    moved = rng.integers(-1, 2, size=(2 * count, 2))
    x = np.stack(
        [np.roll(drawn[c], tuple(by), axis=(0, 1)) for c, by in zip(y, moved, strict=True)]
    )
    noise = float(rng.choice([0.1, 0.25, 0.5]))
    x = np.clip(x + noise * rng.standard_normal(x.shape), 0.0, 1.0).reshape(2 * count, -1)
    about = f"{count} pictures of {side} x {side}, {classes} classes, noise {noise:g}"
    held = slice(count, None)
    asked = y.astype(np.float64)
    return Tabular(x[:count], asked[:count], x[held], asked[held], classes, about)


def _glyph(rng: np.random.Generator, side: int) -> Floats:
    """Two or three strokes, [side, side]."""
    rows, columns = np.mgrid[:side, :side]
    found = np.zeros((side, side))
    for _ in range(int(rng.integers(2, 4))):
        ends = rng.uniform(0.5, side - 1.5, (2, 2))
        for part in np.linspace(0.0, 1.0, 2 * side):
            at = ends[0] * (1 - part) + ends[1] * part
            near = np.exp(-((rows - at[0]) ** 2 + (columns - at[1]) ** 2))
            found = np.maximum(found, near)
    return found


class _Network:
    """One training."""

    def __init__(self, config: Config, data: Tabular, seed: int) -> None:
        self._data, self._rng = data, np.random.default_rng(seed)
        self._rate = float(config["learning_rate"])
        self._slower = float(config.get("rate_decay", 0.0))
        self._momentum = float(config.get("momentum", 0.0))
        self._decay = float(config.get("decay", 0.0))
        self._batch = min(int(config.get("batch_size", 32)), len(data.x))
        self._act, self._slope = _ACTIVATIONS[str(config.get("activation", "tanh"))]
        width, layers = int(config.get("hidden", 32)), int(config.get("layers", 1))
        sizes = [data.x.shape[1], *[width] * layers, data.classes or 1]
        scale = float(config.get("init_scale", 1.0))
        self._weights = [
            scale / np.sqrt(a) * self._rng.standard_normal((a, b)) for a, b in pairwise(sizes)
        ]
        self._biases = [np.zeros(b) for b in sizes[1:]]
        self._speeds = [np.zeros_like(w) for w in (*self._weights, *self._biases)]
        self._epoch = 0

    def epoch(self) -> None:
        """See every example once."""
        rate = self._rate / (1.0 + self._slower * self._epoch)
        order = self._rng.permutation(len(self._data.x))
        for at in range(0, len(order), self._batch):
            self._descend(order[at : at + self._batch], rate)
        self._epoch += 1

    def loss(self) -> float:
        """On the examples to measure on."""
        out = self._layers(self._data.held_x)[-1]
        if self._data.classes:
            return log_loss(self._data.held_y, out)
        return squared(self._data.held_y, out[:, 0])

    def _layers(self, x: Floats) -> list[Floats]:
        """The inputs and what each layer gives; chances of classes at the end."""
        found = [x]
        for weights, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            found.append(self._act(found[-1] @ weights + bias))
        out = found[-1] @ self._weights[-1] + self._biases[-1]
        if self._data.classes:
            out = np.exp(out - out.max(axis=1, keepdims=True))
            out = out / out.sum(axis=1, keepdims=True)
        return [*found, out]

    def _descend(self, some: np.ndarray, rate: float) -> None:
        found = self._layers(self._data.x[some])
        error = found[-1].copy()
        if self._data.classes:
            error[np.arange(len(some)), self._data.y[some].astype(int)] -= 1.0
        else:
            error[:, 0] -= self._data.y[some]
        error /= len(some)
        count = len(self._weights)
        slopes: list[Floats] = [np.zeros(0)] * (2 * count)
        for layer in reversed(range(count)):
            slopes[layer] = found[layer].T @ error + self._decay * self._weights[layer]
            slopes[count + layer] = error.sum(axis=0)
            if layer:
                error = (error @ self._weights[layer].T) * self._slope(found[layer])
        for speed, values, slope in zip(
            self._speeds, (*self._weights, *self._biases), slopes, strict=True
        ):
            speed *= self._momentum  # noqa: PLW2901  # in place
            speed -= rate * slope  # noqa: PLW2901
            values += speed  # noqa: PLW2901
