"""Tabular data sets: generated ones, and those that scikit-learn carries.

Notation:
    N  examples, D  features.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tabular:
    """Examples to train on and to measure on.

    Attributes:
        x: Inputs to train on, [N, D].
        y: Classes from 0 as whole numbers, or values, [N].
        held_x: Inputs to measure on.
        held_y: What is asked for there.
        classes: How many classes, 0 for values.
        about: The data in words.
    """

    x: Floats
    y: NDArray[np.float64]
    held_x: Floats
    held_y: NDArray[np.float64]
    classes: int
    about: str

    @property
    def loss_name(self) -> str:
        """What is measured: for classes or for values."""
        return "validation log loss" if self.classes else "validation squared error"

    @property
    def base_loss(self) -> float:
        """The loss of a model that knows only how often classes are, or the mean."""
        if not self.classes:
            return float(np.mean((self.held_y - self.y.mean()) ** 2))
        often = np.bincount(self.y.astype(int), minlength=self.classes) + 1.0
        return float(-np.log(often / often.sum())[self.held_y.astype(int)].mean())


def draw_tabular(
    rng: np.random.Generator, most: int = 3000, *, values: bool | None = None
) -> Tabular:
    """A data set; `values` says whether values or classes are asked for, None for either."""
    asks_values = bool(rng.random() < 0.3) if values is None else values
    if rng.random() < 0.2 and not asks_values:
        return _carried(rng)
    return _generated(rng, most, asks_values)


def _generated(rng: np.random.Generator, most: int, asks_values: bool) -> Tabular:
    count = int(np.exp(rng.uniform(np.log(300), np.log(most))))
    features = int(np.exp(rng.uniform(np.log(4), np.log(60))))
    x = rng.standard_normal((2 * count, features))
    if rng.random() < 0.5:
        x = x @ rng.standard_normal((features, features)) / np.sqrt(features)
    if rng.random() < 0.3:
        x = np.round(2 * x) / 2
    useful = x[:, : max(2, int(features * rng.uniform(0.2, 1.0)))]
    score = _surface(rng, useful)
    noise = float(rng.choice([0.0, 0.1, 0.3, 1.0]))
    score = score + noise * rng.standard_normal(score.shape)
    if asks_values:
        y, classes = score[:, 0], 0
    else:
        classes = int(rng.choice([2, 2, 2, 3, 5]))
        scores = np.column_stack(
            [score[:, 0], *(_surface(rng, useful) for _ in range(classes - 1))]
        )
        y = (scores[:, 0] > np.quantile(scores[:, 0], rng.uniform(0.3, 0.8))).astype(float)
        if classes > 2:
            y = scores.argmax(axis=1).astype(float)
    about = f"generated, {count} x {features}, noise {noise:g}, " + (
        f"{classes} classes" if classes else "values"
    )
    return Tabular(x[:count], y[:count], x[count:], y[count:], classes, about)


def _surface(rng: np.random.Generator, x: Floats) -> Floats:
    """A random function of the inputs, standardised, [N, 1]: smooth, or steps as trees like."""
    if rng.random() < 0.5:
        hidden = np.tanh(rng.uniform(0.5, 2.5) * x @ rng.standard_normal((x.shape[1], 16)) / 2)
        out = hidden @ rng.standard_normal((16, 1))
    else:
        out = np.zeros((len(x), 1))
        for _ in range(int(rng.integers(5, 40))):
            a, b = rng.integers(x.shape[1], size=2)
            cut = rng.standard_normal(2)
            out[:, 0] += rng.standard_normal() * ((x[:, a] > cut[0]) & (x[:, b] < cut[1]))
    out = out + rng.uniform(0, 1) * x @ rng.standard_normal((x.shape[1], 1))
    return np.asarray((out - out.mean()) / (out.std() + 1e-9))


def _carried(rng: np.random.Generator) -> Tabular:
    from sklearn import datasets  # type: ignore[import-untyped]

    name = str(rng.choice(["digits", "breast_cancer", "wine"]))
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = rng.permutation(len(x))
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
    half = len(x) // 2
    train, held = order[:half], order[half:]
    classes = len(np.unique(y))
    return Tabular(x[train], y[train].astype(float), x[held], y[held].astype(float), classes, name)
