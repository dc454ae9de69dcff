"""What the networks learn: images of the packed file, and tasks that are generated.

Notation:
    N  examples, F  features (padded), O = 10  outputs (padded).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Labels = NDArray[np.int64]
Sets = Mapping[str, NDArray[np.uint8]]

ROWS, HELD = 10240, 1024  # examples to train on (padded), and to measure on
GREY, COLOUR, OUTPUTS = 256, 768, 10
SIDE = 16
IMAGES = ("mnist", "fashion", "cifar10", "digits")
VECTORS = ("teacher", "mixture", "regression")
SEQUENCES = ("adding", "most", "echo")


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples of one table.

    Attributes:
        x: Inputs to train on, [ROWS, F]; only the first `count` exist.
        targets: What is asked for, [ROWS, O]: one of a row is 1, or values.
        held_x: Inputs to measure on, [HELD, F].
        held_targets: What is asked for there, [HELD, O].
        count: How many examples there are to train on.
        outputs: How many columns of the targets are used.
        values: Whether targets are values, not classes.
        about: The data in words.
    """

    x: Floats
    targets: Floats
    held_x: Floats
    held_targets: Floats
    count: int
    outputs: int
    values: bool
    about: str


def draw_examples(rng: np.random.Generator, name: str, family: str, sets: Sets) -> Examples:
    """Draws size, classes, noise and scale of a data set and makes it.

    Args:
        rng: Of everything random.
        name: One of `IMAGES`, `VECTORS` or `SEQUENCES`.
        family: Which networks are to learn it; convolutions get colour, auto-encoders 0 .. 1.
        sets: Arrays of the packed file.
    """
    if name in IMAGES:
        return _images(rng, name, family, sets)
    count = _size(rng, 300, ROWS)
    made, y, outputs, words = GENERATED[name](rng, count + HELD)
    values = y.ndim == 2
    noise = float(rng.choice([0.0, 0.05, 0.2]))
    if values:
        targets = np.zeros((len(y), OUTPUTS), np.float32)
        targets[:, :outputs] = y + noise * rng.standard_normal(y.shape)
    else:
        targets = _one_of(_flip(rng, y.astype(np.int64), outputs, noise), outputs)
    padded = np.zeros((len(made), GREY), np.float32)
    padded[:, : made.shape[1]] = made
    about = f"generated ({words}), {count} examples, noise {noise:g}"
    return _split(padded, targets, count, outputs, values, about)


def _images(rng: np.random.Generator, name: str, family: str, sets: Sets) -> Examples:
    """Some of the images, of some of the classes, some labels wrong."""
    x: Floats = np.asarray(sets[f"{name}_x"] / 255, np.float32)
    y = sets[f"{name}_y"].astype(np.int64)
    classes = rng.permutation(OUTPUTS)[: int(rng.choice([2, 5, 10, 10, 10]))]
    if family == "vae":
        classes = np.arange(OUTPUTS)
    kept = rng.permutation(np.flatnonzero(np.isin(y, classes)))
    x, y = x[kept], np.searchsorted(np.sort(classes), y[kept])
    most = min(ROWS, len(x) - 300)
    count = _size(rng, min(400, most), most)
    noise = 0.0 if family == "vae" else float(rng.choice([0.0, 0.0, 0.0, 0.1, 0.3]))
    x = _channels(x, family)
    if family != "vae":
        scale = rng.choice(["unit", "unit", "raw"])
        x = (x - x.mean()) / (x.std() + 1e-6) if scale == "unit" else x
    targets = _one_of(_flip(rng, y, len(classes), noise), len(classes))
    about = f"{name} at 16 x 16, {count} images, {len(classes)} classes, label noise {noise:g}"
    return _split(x.astype(np.float32), targets, count, len(classes), False, about)


def _size(rng: np.random.Generator, low: int, high: int) -> int:
    """How many examples there are to train on; large sets are commoner than small ones."""
    return round(float(low * (high / low) ** np.sqrt(rng.random())))


def _channels(x: Floats, family: str) -> Floats:
    """Three channels for convolutions, [N, COLOUR]; one for all others, [N, GREY]."""
    if family == "cnn":
        return x if x.shape[1] == COLOUR else np.asarray(x.repeat(3, axis=1))
    return x if x.shape[1] == GREY else np.asarray(x.reshape(len(x), GREY, 3).mean(axis=2))


def _flip(rng: np.random.Generator, y: Labels, classes: int, noise: float) -> Labels:
    """A part of the labels drawn anew."""
    wrong = rng.random(len(y)) < noise
    return np.where(wrong, rng.integers(0, classes, len(y)), y)


def _one_of(y: Labels, classes: int) -> Floats:
    targets = np.zeros((len(y), OUTPUTS), np.float32)
    targets[np.arange(len(y)), np.minimum(y, classes - 1)] = 1.0
    return targets


def _split(
    x: Floats, targets: Floats, count: int, outputs: int, values: bool, about: str
) -> Examples:
    """The first `count` to train on, padded; what follows to measure on, repeated if few."""
    rest = count + np.arange(HELD) % (len(x) - count)
    padded = [np.zeros((ROWS, a.shape[1]), np.float32) for a in (x, targets)]
    padded[0][:count], padded[1][:count] = x[:count], targets[:count]
    return Examples(padded[0], padded[1], x[rest], targets[rest], count, outputs, values, about)


Made = tuple[NDArray[np.float64], NDArray[np.float64], int, str]


def _inputs(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Normal inputs, [N, D]; in some sets correlated or of very different scales."""
    features = int(np.exp(rng.uniform(np.log(5), np.log(200))))
    x = rng.standard_normal((count, features))
    if rng.random() < 0.4:
        x = x @ rng.standard_normal((features, features)) / np.sqrt(features)
    if rng.random() < 0.4:
        x = x * np.exp(rng.normal(0, 1.0, features))
    return np.asarray(x)


def _through(rng: np.random.Generator, x: NDArray[np.float64], outputs: int) -> Floats:
    """What a random network with two hidden layers answers, standardised, [N, O]."""
    hidden = np.asarray(x / (x.std(axis=0) + 1e-9))
    sharp = rng.uniform(0.7, 2.5)
    for width in (int(rng.integers(4, 40)), int(rng.integers(4, 40)), outputs):
        hidden = hidden @ rng.standard_normal((hidden.shape[1], width)) / np.sqrt(hidden.shape[1])
        if width != outputs:
            hidden = np.tanh(sharp * hidden)
    return np.asarray((hidden - hidden.mean(axis=0)) / (hidden.std(axis=0) + 1e-9), np.float32)


def _teacher(rng: np.random.Generator, count: int) -> Made:
    x, classes = _inputs(rng, count), int(rng.integers(2, OUTPUTS + 1))
    y = _through(rng, x, classes).argmax(axis=1)
    return x, y.astype(float), classes, f"teacher network, {x.shape[1]} features, {classes} classes"


def _mixture(rng: np.random.Generator, count: int) -> Made:
    x, classes = _inputs(rng, count), int(rng.integers(2, OUTPUTS + 1))
    clusters = classes * int(rng.integers(1, 5))
    centres = rng.standard_normal((clusters, x.shape[1])) * x.std(axis=0)
    which = rng.integers(0, clusters, count)
    x = x + centres[which] * rng.uniform(3, 9) / np.sqrt(x.shape[1])
    words = f"{clusters} Gaussians, {x.shape[1]} features, {classes} classes"
    return x, (which % classes).astype(float), classes, words


def _regression(rng: np.random.Generator, count: int) -> Made:
    x, outputs = _inputs(rng, count), int(rng.integers(1, 5))
    y = _through(rng, x, outputs).astype(float)
    return x, y, outputs, f"values of a teacher network, {x.shape[1]} features, {outputs} values"


def _adding(rng: np.random.Generator, count: int) -> Made:
    """Two of 16 numbers are marked; their product is asked for."""
    x = np.zeros((count, SIDE, SIDE))
    x[:, :, 0] = rng.uniform(-1, 1, (count, SIDE))
    marked = rng.random((count, SIDE)).argsort(axis=1)[:, :2]
    np.put_along_axis(x[:, :, 1], marked, 1.0, axis=1)
    y = np.take_along_axis(x[:, :, 0], marked, axis=1)
    asked = y.sum(axis=1) if rng.random() < 0.7 else 2 * y.prod(axis=1)
    return x.reshape(count, -1), asked[:, None], 1, "adding two marked numbers of 16"


def _most(rng: np.random.Generator, count: int) -> Made:
    """Which symbol was there most often."""
    symbols = int(rng.integers(2, OUTPUTS + 1))
    seen = np.eye(SIDE)[rng.integers(0, symbols, (count, SIDE))]
    y = seen.sum(axis=1)[:, :symbols].argmax(axis=1)
    return seen.reshape(count, -1), y.astype(float), symbols, f"the commonest of {symbols} symbols"


def _echo(rng: np.random.Generator, count: int) -> Made:
    """Which symbol was there some steps before the end."""
    symbols, back = int(rng.integers(2, OUTPUTS + 1)), int(rng.integers(2, SIDE))
    drawn = rng.integers(0, symbols, (count, SIDE))
    words = f"the symbol {back} steps before the end, of {symbols}"
    return np.eye(SIDE)[drawn].reshape(count, -1), drawn[:, -back].astype(float), symbols, words


GENERATED: dict[str, Callable[[np.random.Generator, int], Made]] = {
    "teacher": _teacher,
    "mixture": _mixture,
    "regression": _regression,
    "adding": _adding,
    "most": _most,
    "echo": _echo,
}
