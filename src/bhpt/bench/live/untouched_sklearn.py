"""Trainings that nothing was chosen on: a linear classifier by its errors, trees, a ranking."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine  # type: ignore[import-untyped]
from sklearn.ensemble import ExtraTreesClassifier  # type: ignore[import-untyped]
from sklearn.linear_model import SGDClassifier  # type: ignore[import-untyped]

from bhpt.bench.live.job import Classes, Pickled, generated_classes, log_loss
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import Config


def _cells() -> Classes:
    """Breast cancer with noise on every input, so that no model is without errors."""
    rng = np.random.default_rng(35)
    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0) + 0.8 * rng.standard_normal(x.shape)
    order = rng.permutation(len(x))
    train, held = order[:230], order[230:]
    return Classes(x[train], y[train], x[held], y[held], 2)


_CELLS = _cells()
_WIDE = generated_classes(36, 500, 24, 5)


class LinearErrors(Pickled):
    """A perceptron or a margin classifier, measured by its part of errors: curves have ties."""

    def __init__(self, config: Config) -> None:
        self.model = SGDClassifier(
            loss=config["loss"],
            alpha=config["alpha"],
            eta0=config["eta0"],
            power_t=config["power_t"],
            learning_rate="invscaling",
            average=config["average"] == "yes",
            random_state=0,
        )

    def step(self) -> float:
        """Train one epoch; returns the part of validation examples that are wrong."""
        with np.errstate(all="ignore"):
            self.model.partial_fit(_CELLS.x, _CELLS.y, classes=np.arange(2))
            return float(np.mean(self.model.predict(_CELLS.held_x) != _CELLS.held_y))


class ExtraTrees(Pickled):
    """`ExtraTreesClassifier`, two more trees an epoch."""

    def __init__(self, config: Config) -> None:
        self.model = ExtraTreesClassifier(
            n_estimators=0,
            criterion=config["criterion"],
            max_depth=int(config["max_depth"]),
            min_samples_leaf=int(config["min_samples_leaf"]),
            max_features=float(config["max_features"]),
            max_leaf_nodes=int(config["max_leaf_nodes"]),
            warm_start=True,
            random_state=0,
        )

    def step(self) -> float:
        """Two more trees; returns the validation log loss."""
        self.model.set_params(n_estimators=self.model.n_estimators + 2)
        self.model.fit(_WIDE.x, _WIDE.y)
        return log_loss(_WIDE.held_y, self.model.predict_proba(_WIDE.held_x))


def _queries() -> tuple[FloatArray, IntArray]:
    """Documents of 80 queries, ten each, and how relevant each is, 0 to 3."""
    rng = np.random.default_rng(37)
    wines = load_wine(return_X_y=True)[0]
    wines = (wines - wines.mean(axis=0)) / wines.std(axis=0)
    x = wines[rng.integers(len(wines), size=800)] + 0.3 * rng.standard_normal((800, 13))
    score = x[:, 0] * x[:, 3] + np.sin(2 * x[:, 6]) + x[:, 9] + 0.5 * rng.standard_normal(800)
    places = score.reshape(80, 10).argsort(axis=1).argsort(axis=1).ravel()
    return x, np.digitize(places, [5, 7, 9])


_DOCUMENTS, _RELEVANCE = _queries()
_GAINS = 2.0 ** _RELEVANCE[400:].reshape(40, 10) - 1
_DISCOUNTS = 1 / np.log2(np.arange(2, 7))


class Ranking(Pickled):
    """LightGBM's `lambdarank`, two rounds an epoch."""

    def __init__(self, config: Config) -> None:
        fixed = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1, "seed": 0}
        self.given = {**config, **fixed, "bagging_freq": 1}
        self.text: str | None = None

    def step(self) -> float:
        """Two more rounds; returns one minus the mean validation NDCG of the first five."""
        import lightgbm  # only where this job runs

        quiet = {"verbosity": -1}
        data = lightgbm.Dataset(_DOCUMENTS[:400], _RELEVANCE[:400], group=[10] * 40, params=quiet)
        before = None if self.text is None else lightgbm.Booster(model_str=self.text)
        model = lightgbm.train(self.given, data, 2, init_model=before)
        self.text = model.model_to_string()
        order = np.asarray(model.predict(_DOCUMENTS[400:])).reshape(40, 10).argsort(axis=1)[:, ::-1]
        found = np.take_along_axis(_GAINS, order[:, :5], axis=1) @ _DISCOUNTS
        best = np.sort(_GAINS, axis=1)[:, :-6:-1] @ _DISCOUNTS
        return float(1 - np.mean(found / best))
