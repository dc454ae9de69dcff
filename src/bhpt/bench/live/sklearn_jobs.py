"""Trainings by scikit-learn: a network, a linear model, boosted trees."""

import warnings

import numpy as np
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.linear_model import SGDClassifier  # type: ignore[import-untyped]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]

from bhpt.bench.live.job import Classes, Pickled, generated_classes, log_loss
from bhpt.spaces import Config


def _digits() -> Classes:
    x, y = load_digits(return_X_y=True)
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
    order = np.random.default_rng(0).permutation(len(x))
    train, held = order[:600], order[600:1200]
    return Classes(x[train], y[train], x[held], y[held], 10)


_DIGITS = _digits()
_SMALL = generated_classes(6, 300, 10, 3)


class SklearnNetwork(Pickled):
    """`MLPClassifier`, an epoch a call of `partial_fit`."""

    def __init__(self, config: Config) -> None:
        self.model = MLPClassifier(
            (int(config["hidden"]),),
            activation=config["activation"],
            alpha=config["alpha"],
            batch_size=int(config["batch_size"]),
            learning_rate_init=config["learning_rate_init"],
            beta_1=1 - config["one_minus_beta1"],
            random_state=0,
        )

    def step(self) -> float:
        """Train one epoch; returns the validation log loss."""
        self.model.partial_fit(_DIGITS.x, _DIGITS.y, classes=np.arange(10))
        return log_loss(_DIGITS.held_y, self.model.predict_proba(_DIGITS.held_x))


class SklearnLinear(Pickled):
    """`SGDClassifier` with logistic loss, an epoch a call of `partial_fit`."""

    def __init__(self, config: Config) -> None:
        self.model = SGDClassifier(
            loss="log_loss",
            penalty=config["penalty"],
            alpha=config["alpha"],
            l1_ratio=config["l1_ratio"],
            learning_rate=config["learning_rate"],
            eta0=config["eta0"],
            power_t=config["power_t"],
            random_state=0,
        )

    def step(self) -> float:
        """Train one epoch; returns the validation log loss."""
        with np.errstate(all="ignore"):
            self.model.partial_fit(_DIGITS.x, _DIGITS.y, classes=np.arange(10))
            return log_loss(_DIGITS.held_y, self.model.predict_proba(_DIGITS.held_x))


class SklearnBoosting(Pickled):
    """`HistGradientBoostingClassifier`, two more rounds an epoch."""

    def __init__(self, config: Config) -> None:
        self.model = HistGradientBoostingClassifier(
            learning_rate=config["learning_rate"],
            max_leaf_nodes=int(config["max_leaf_nodes"]),
            min_samples_leaf=int(config["min_samples_leaf"]),
            l2_regularization=config["l2_regularization"],
            max_features=config["max_features"],
            max_iter=0,
            warm_start=True,
            early_stopping=False,
            random_state=0,
        )

    def step(self) -> float:
        """Two more rounds; returns the validation log loss."""
        self.model.set_params(max_iter=self.model.max_iter + 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(_SMALL.x, _SMALL.y)
        return log_loss(_SMALL.held_y, self.model.predict_proba(_SMALL.held_x))
