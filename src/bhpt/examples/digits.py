"""A small neural network on the 8 by 8 digits that ship with scikit-learn; `make tune` tunes it.

One hidden layer, softmax, stochastic gradient descent with momentum, in plain numpy. It is a
trainer like any user's: a constructor that takes the configuration, and `step`, `save`, `load`.

Notation:
    N  training images, B  images in a batch, H  hidden units; 64 pixels, 10 digits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bhpt.domain import FloatArray, IntArray, Misuse

SPACE = {
    "rate": (1e-3, 1.0, "log"),
    "momentum": (0.0, 0.95),
    "hidden": (8, 128, "log"),
    "batch": [16, 32, 64, 128],
    "decay": (1e-6, 1e-2, "log"),
    "activation": ["tanh", "relu"],
}
"""The search space of `make tune`."""

_HELD_OUT = 500  # images whose loss is reported
_SPLIT_SEED = 0


@dataclass(frozen=True, eq=False)
class Images:
    """Pixels in [0, 1], [N, 64], and which digit each shows, [N]."""

    pixels: FloatArray
    digits: IntArray


@cache
def load_images() -> tuple[Images, Images]:
    """Training and held-out images, the same for every configuration.

    Raises:
        Misuse: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped]
    except ImportError:
        raise Misuse("the digits need scikit-learn: pip install 'bhpt[demo]'") from None
    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(digits))
    pixels, digits = pixels[order] / 16.0, digits[order].astype(np.int64)
    held_out = Images(pixels[:_HELD_OUT], digits[:_HELD_OUT])
    return Images(pixels[_HELD_OUT:], digits[_HELD_OUT:]), held_out


class Digits:
    """Trains one configuration, epoch by epoch.

    Args:
        config: One point of `SPACE`.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        self._rate, self._momentum = float(str(config["rate"])), float(str(config["momentum"]))
        self._batch, self._decay = int(str(config["batch"])), float(str(config["decay"]))
        self._tanh = config["activation"] == "tanh"
        self._rng = np.random.default_rng(0)
        hidden = int(str(config["hidden"]))
        self._weights = {
            "w1": self._rng.normal(0, 1 / 8, (64, hidden)),
            "b1": np.zeros(hidden),
            "w2": self._rng.normal(0, hidden**-0.5, (hidden, 10)),
            "b2": np.zeros(10),
        }
        self._speed = {name: np.zeros_like(values) for name, values in self._weights.items()}
        self._epoch = 0

    def step(self) -> float:
        """Train one epoch; the mean cross-entropy of the held-out images."""
        train, held_out = load_images()
        order = np.random.default_rng((1, self._epoch)).permutation(len(train.digits))
        with np.errstate(over="ignore", invalid="ignore"):  # a rate that diverges reports NaN
            for start in range(0, len(order), self._batch):
                chosen = order[start : start + self._batch]
                self._descend(train.pixels[chosen], train.digits[chosen])
            self._epoch += 1
            return self._loss(held_out)

    def save(self, folder: Path) -> None:
        """Freeze: weights, momentum and the epoch."""
        for name, values in self._weights.items():
            np.savez(folder / f"{name}.npz", values=values, speed=self._speed[name])
        (folder / "epoch").write_text(str(self._epoch))

    def load(self, folder: Path) -> None:
        """Thaw what `save` has written."""
        self._epoch = int((folder / "epoch").read_text())
        for name in self._weights:
            with np.load(folder / f"{name}.npz") as saved:
                self._weights[name], self._speed[name] = saved["values"], saved["speed"]

    def _hidden(self, pixels: FloatArray) -> FloatArray:
        inner = pixels @ self._weights["w1"] + self._weights["b1"]
        hidden: FloatArray = np.tanh(inner) if self._tanh else np.maximum(inner, 0.0)
        return hidden

    def _log_odds(self, hidden: FloatArray) -> FloatArray:
        """Log-probabilities of the ten digits, [B, 10]."""
        scores = hidden @ self._weights["w2"] + self._weights["b2"]
        scores = scores - scores.max(axis=1, keepdims=True)
        logs: FloatArray = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return logs

    def _loss(self, images: Images) -> float:
        logs = self._log_odds(self._hidden(images.pixels))
        return float(-logs[np.arange(len(images.digits)), images.digits].mean())

    def _descend(self, pixels: FloatArray, digits: IntArray) -> None:
        """One step of gradient descent on a batch."""
        hidden = self._hidden(pixels)
        error = np.exp(self._log_odds(hidden))
        error[np.arange(len(digits)), digits] -= 1.0
        error /= len(digits)
        slope = 1.0 - hidden**2 if self._tanh else (hidden > 0).astype(float)
        inner = (error @ self._weights["w2"].T) * slope
        gradients = {
            "w1": pixels.T @ inner,
            "b1": inner.sum(axis=0),
            "w2": hidden.T @ error,
            "b2": error.sum(axis=0),
        }
        for name, gradient in gradients.items():
            pull = gradient + self._decay * self._weights[name]
            self._speed[name] = self._momentum * self._speed[name] - self._rate * pull
            self._weights[name] = self._weights[name] + self._speed[name]
