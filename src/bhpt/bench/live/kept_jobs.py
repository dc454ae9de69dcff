"""Trainings to judge predictions on.

What a forecast believes was set on the other jobs (`bhpt.reports.hindsight`); these four only chose
among settings that were equally good there.
"""

import numpy as np

from bhpt.bench.live.job import Pickled, generated_classes, log_loss
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import Config

_DATA = generated_classes(77, 900, 16, 4)
_ONE_OF_FOUR = np.eye(4)[_DATA.y]


def _targets() -> tuple[FloatArray, FloatArray]:
    """Noisy values of a smooth function, to train on and to measure on."""
    rng = np.random.default_rng(123)
    weights = rng.standard_normal((16, 8))

    def made(x: FloatArray) -> FloatArray:
        bent = np.tanh(x @ weights / 2).sum(axis=1) + 0.3 * x[:, 0] * x[:, 1]
        noisy: FloatArray = bent + 0.2 * np.sin(3 * x[:, 2]) + 0.3 * rng.standard_normal(len(x))
        return noisy

    return made(_DATA.x), made(_DATA.held_x)


_TARGET, _HELD_TARGET = _targets()


def _softmax(scores: FloatArray) -> FloatArray:
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    normal: FloatArray = chances / chances.sum(axis=1, keepdims=True)
    return normal


class RandomFeatures(Pickled):
    """Logistic regression on random Fourier features, gradient descent with momentum."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        count = int(config["n_components"])
        scale = np.sqrt(2 * float(config["gamma"]))
        self.waves = scale * self.rng.standard_normal((16, count))
        self.shifts = self.rng.uniform(0, 2 * np.pi, count)
        self.weights = np.zeros((count, 4))
        self.speed = np.zeros((count, 4))

    def step(self) -> float:
        """Train one epoch; returns the validation log loss."""
        inputs = self._features(_DATA.x)
        parts = max(1, len(inputs) // int(self.config["batch_size"]))
        with np.errstate(all="ignore"):
            for rows in np.array_split(self.rng.permutation(len(inputs)), parts):
                self._batch(inputs[rows], rows)
            held = self._features(_DATA.held_x)
            return log_loss(_DATA.held_y, _softmax(held @ self.weights))

    def _features(self, x: FloatArray) -> FloatArray:
        waves = np.cos(x @ self.waves + self.shifts)
        return np.asarray(np.sqrt(2 / len(self.shifts)) * waves)

    def _batch(self, inputs: FloatArray, rows: IntArray) -> None:
        off = _softmax(inputs @ self.weights) - _ONE_OF_FOUR[rows]
        slope = inputs.T @ off / len(rows) + float(self.config["l2"]) * self.weights
        rate, momentum = float(self.config["lr"]), float(self.config["momentum"])
        self.speed = momentum * self.speed - rate * slope
        self.weights = self.weights + self.speed


class SgdRegression(Pickled):
    """`SGDRegressor` on products of the inputs, an epoch a call of `partial_fit`."""

    def __init__(self, config: Config) -> None:
        from sklearn.linear_model import SGDRegressor  # type: ignore[import-untyped]

        given = dict(config)
        self.degree = int(given.pop("degree"))
        self.model = SGDRegressor(random_state=0, **given)

    def step(self) -> float:
        """Train one epoch; returns the validation squared error."""
        with np.errstate(all="ignore"):
            self.model.partial_fit(self._features(_DATA.x), _TARGET)
            off = self.model.predict(self._features(_DATA.held_x)) - _HELD_TARGET
            return float(np.mean(off**2))

    def _features(self, x: FloatArray) -> FloatArray:
        made = [x]
        if self.degree > 1:
            made.append((x[:, :, None] * x[:, None, :]).reshape(len(x), -1) / 2)
        if self.degree > 2:
            made.append(np.tanh(x) ** 3)
        return np.concatenate(made, axis=1)


class LightgbmRegression(Pickled):
    """LightGBM with squared error, three rounds an epoch."""

    def __init__(self, config: Config) -> None:
        fixed = {"objective": "regression", "num_threads": 1, "verbosity": -1, "seed": 0}
        self.given = {**config, **fixed}
        self.text: str | None = None

    def step(self) -> float:
        """Three more rounds; returns the validation squared error."""
        import lightgbm  # only where this job runs

        data = lightgbm.Dataset(_DATA.x, _TARGET, params={"verbosity": -1})
        before = None if self.text is None else lightgbm.Booster(model_str=self.text)
        model = lightgbm.train(self.given, data, 3, init_model=before)
        self.text = model.model_to_string()
        off = np.asarray(model.predict(_DATA.held_x)) - _HELD_TARGET
        return float(np.mean(off**2))
