"""Boosted trees by LightGBM, XGBoost and scikit-learn; a unit is a number of rounds."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from .data import Floats, Tabular, draw_tabular
from .job import Job, log_loss, squared
from .ranges import Axis, Config

LIGHTGBM = (
    Axis("learning_rate", (0.03, 0.3), (0.001, 1.0), log=True, always=True),
    Axis("num_leaves", (8, 64), (2, 256), log=True, whole=True),
    Axis("max_depth", (3, 9), (1, 16), whole=True),
    Axis("min_child_samples", (5, 40), (1, 200), log=True, whole=True),
    Axis("subsample", (0.6, 1.0), (0.1, 1.0)),
    Axis("colsample_bytree", (0.5, 1.0), (0.1, 1.0)),
    Axis("reg_alpha", (1e-4, 1.0), (1e-8, 100.0), log=True),
    Axis("reg_lambda", (1e-3, 5.0), (1e-8, 100.0), log=True),
)
LIGHTGBM_NATIVE = (
    Axis("eta", (0.03, 0.3), (0.001, 1.0), log=True, always=True),
    Axis("num_leaves", (8, 64), (2, 256), log=True, whole=True),
    Axis("min_data_in_leaf", (5, 40), (1, 200), log=True, whole=True),
    Axis("bagging_fraction", (0.6, 1.0), (0.1, 1.0)),
    Axis("feature_fraction", (0.5, 1.0), (0.1, 1.0)),
    Axis("lambda_l1", (1e-4, 1.0), (1e-8, 100.0), log=True),
    Axis("lambda_l2", (1e-3, 5.0), (1e-8, 100.0), log=True),
)
XGBOOST = (
    Axis("eta", (0.05, 0.4), (0.001, 1.0), log=True, always=True),
    Axis("max_depth", (3, 9), (1, 15), whole=True),
    Axis("min_child_weight", (1, 8), (0.1, 150.0), log=True),
    Axis("subsample", (0.6, 1.0), (0.1, 1.0)),
    Axis("colsample_bytree", (0.5, 1.0), (0.05, 1.0)),
    Axis("gamma", (1e-3, 0.5), (1e-5, 20.0), log=True),
    Axis("alpha", (1e-4, 1.0), (1e-6, 500.0), log=True),
    Axis("lambda", (0.1, 5.0), (1e-4, 500.0), log=True),
)
HISTOGRAM = (
    Axis("learning_rate", (0.03, 0.3), (0.001, 1.0), log=True, always=True),
    Axis("max_leaf_nodes", (8, 63), (2, 255), log=True, whole=True),
    Axis("max_depth", (3, 9), (1, 16), whole=True),
    Axis("min_samples_leaf", (5, 40), (1, 200), log=True, whole=True),
    Axis("l2_regularization", (1e-4, 1.0), (1e-8, 100.0), log=True),
    Axis("max_bins", (64, 255), (4, 255), log=True, whole=True),
    Axis("max_features", (0.5, 1.0), (0.05, 1.0)),
)
XGBOOST_SKLEARN = (
    Axis("learning_rate", (0.05, 0.3), (0.001, 1.0), log=True, always=True, also=("eta",)),
    Axis("max_depth", (3, 9), (1, 15), whole=True),
    Axis("min_child_weight", (1, 8), (0.1, 150.0), log=True),
    Axis("subsample", (0.6, 1.0), (0.1, 1.0)),
    Axis("colsample_bytree", (0.5, 1.0), (0.05, 1.0)),
    Axis("colsample_bylevel", (0.5, 1.0), (0.05, 1.0), also=("colsample_bynode",)),
    Axis("gamma", (1e-3, 0.5), (1e-5, 20.0), log=True, also=("min_split_loss",)),
    Axis("reg_alpha", (1e-4, 1.0), (1e-6, 500.0), log=True),
    Axis("reg_lambda", (0.1, 5.0), (1e-4, 500.0), log=True),
    Axis("max_bin", (64, 256), (4, 512), log=True, whole=True),
    Axis("grow_policy", values=("depthwise", "lossguide")),
)
GRADIENT = (
    Axis("learning_rate", (0.03, 0.3), (0.001, 1.0), log=True, always=True, also=("lr",)),
    Axis("max_depth", (2, 6), (1, 14), whole=True),
    Axis("subsample", (0.5, 1.0), (0.05, 1.0)),
    Axis("max_features", (0.3, 1.0), (0.03, 1.0)),
    Axis("min_samples_leaf", (1, 20), (1, 150), log=True, whole=True),
    Axis("min_samples_split", (2, 20), (2, 200), log=True, whole=True),
    Axis("min_impurity_decrease", (1e-6, 1e-3), (1e-8, 1.0), log=True),
    Axis("ccp_alpha", (1e-6, 1e-3), (1e-8, 0.3), log=True),
)
CATBOOST = (
    Axis("learning_rate", (0.03, 0.3), (0.001, 1.0), log=True, always=True, also=("eta",)),
    Axis("depth", (4, 8), (1, 10), whole=True, also=("max_depth",)),
    Axis("l2_leaf_reg", (1.0, 10.0), (0.01, 300.0), log=True, also=("reg_lambda",)),
    Axis("random_strength", (0.1, 3.0), (1e-3, 100.0), log=True),
    Axis("bagging_temperature", (0.0, 1.0), (0.0, 20.0)),
    Axis("rsm", (0.5, 1.0), (0.05, 1.0), also=("colsample_bylevel",)),
    Axis("border_count", (32, 254), (1, 254), log=True, whole=True, also=("max_bin",)),
    Axis("min_data_in_leaf", (1, 20), (1, 200), log=True, whole=True, also=("min_child_samples",)),
    Axis("grow_policy", values=("SymmetricTree", "Depthwise")),
)


def _length(rng: np.random.Generator, longer: int) -> tuple[int, int]:
    """Units, and rounds of a unit; one round where trainings are longer than usual."""
    rounds = int(rng.choice([1, 2, 4, 6]))
    return longer * int(rng.integers(10, 51)), rounds if longer == 1 else 1


def lightgbm(rng: np.random.Generator, longer: int = 1) -> Job:
    """Gradient boosting by LightGBM."""
    data = draw_tabular(rng)
    units, rounds = _length(rng, longer)
    axes = LIGHTGBM if rng.random() < 0.6 else LIGHTGBM_NATIVE

    def train(config: Config, seed: int) -> list[float]:
        import lightgbm as lgb  # only where this kind is made

        objective = "multiclass" if data.classes > 2 else "binary" if data.classes else "regression"
        metric = {"multiclass": "multi_logloss", "binary": "binary_logloss", "regression": "l2"}
        given = {
            **config,
            "objective": objective,
            "metric": metric[objective],
            "verbosity": -1,
            "num_threads": 1,
            "seed": seed,
            "bagging_freq": 1,
        }
        if data.classes > 2:
            given["num_class"] = data.classes
        inside = lgb.Dataset(data.x, data.y, params={"verbosity": -1}, free_raw_data=False)
        held = lgb.Dataset(data.held_x, data.held_y, reference=inside, free_raw_data=False)
        found: dict[str, dict[str, list[float]]] = {}
        lgb.train(given, inside, units * rounds, [held], callbacks=[lgb.record_evaluation(found)])
        losses = next(iter(found["valid_0"].values()))
        return _by_unit(data, losses, units, rounds)

    return Job(
        "boosted-trees", data.loss_name, units, f"{data.about}; {rounds} rounds a unit", axes, train
    )


def xgboost(rng: np.random.Generator, longer: int = 1) -> Job:
    """Gradient boosting by XGBoost, with its own names."""
    return _xgboost(rng, longer, XGBOOST)


def xgboost_sklearn(rng: np.random.Generator, longer: int = 1) -> Job:
    """Gradient boosting by XGBoost, with the names of its scikit-learn interface."""
    return _xgboost(rng, longer, XGBOOST_SKLEARN)


def _xgboost(rng: np.random.Generator, longer: int, axes: tuple[Axis, ...]) -> Job:
    data = draw_tabular(rng)
    units, rounds = _length(rng, longer)

    def train(config: Config, seed: int) -> list[float]:
        import xgboost as xgb  # only where this kind is made

        objective = {0: "reg:squarederror", 2: "binary:logistic"}.get(
            data.classes, "multi:softprob"
        )
        metric = {0: "rmse", 2: "logloss"}.get(data.classes, "mlogloss")
        given = {
            **config,
            "objective": objective,
            "eval_metric": metric,
            "nthread": 1,
            "seed": seed,
            "verbosity": 0,
        }
        if data.classes > 2:
            given["num_class"] = data.classes
        found: dict[str, dict[str, list[float]]] = {}
        xgb.train(
            given,
            xgb.DMatrix(data.x, data.y),
            units * rounds,
            evals=[(xgb.DMatrix(data.held_x, data.held_y), "held")],
            evals_result=found,
            verbose_eval=False,
        )
        losses = found["held"][metric]
        if not data.classes:
            losses = [value**2 for value in losses]
        return _by_unit(data, losses, units, rounds)

    return Job(
        "boosted-trees", data.loss_name, units, f"{data.about}; {rounds} rounds a unit", axes, train
    )


def catboost(rng: np.random.Generator, longer: int = 1) -> Job:
    """Gradient boosting by CatBoost."""
    data = draw_tabular(rng, 1000)
    units, rounds = _length(rng, longer)
    rounds = min(rounds, 3)
    score = bool(data.classes) and bool(rng.random() < 0.4)

    def train(config: Config, seed: int) -> list[float]:
        import catboost as cb  # only where this kind is made

        objective = {0: "RMSE", 2: "Logloss"}.get(data.classes, "MultiClass")
        metric = "Accuracy" if score else objective
        given = {**config, "loss_function": objective, "custom_metric": [metric]}
        given |= {"iterations": units * rounds, "random_seed": seed, "bootstrap_type": "Bayesian"}
        given |= {"thread_count": 1, "allow_writing_files": False, "use_best_model": False}
        model = cb.CatBoost(given)
        held = cb.Pool(data.held_x, data.held_y)
        model.fit(cb.Pool(data.x, data.y), eval_set=held, verbose=False)
        losses = model.get_evals_result()["validation"][metric]
        if score:
            often = np.bincount(data.y.astype(int)).argmax()
            base = -float(np.mean(data.held_y == often))
            return [base, *_by_unit(data, [-value for value in losses], units, rounds)[1:]]
        if not data.classes:
            losses = [value**2 for value in losses]
        return _by_unit(data, losses, units, rounds)

    about = f"{data.about}; {rounds} rounds a unit"
    return Job(
        "catboost", "negative accuracy" if score else data.loss_name, units, about, CATBOOST, train
    )


def histogram(rng: np.random.Generator, longer: int = 1) -> Job:
    """Histogram gradient boosting by scikit-learn."""
    data = draw_tabular(rng, 1500)
    units, rounds = _length(rng, longer)
    rounds = min(rounds, 3)

    def train(config: Config, seed: int) -> list[float]:
        from sklearn import ensemble  # type: ignore[import-untyped]

        given = {
            **config,
            "max_iter": units * rounds,
            "early_stopping": False,
            "random_state": seed,
        }
        kinds = (ensemble.HistGradientBoostingRegressor, ensemble.HistGradientBoostingClassifier)
        model = kinds[bool(data.classes)](**given).fit(data.x, data.y)
        return _by_unit(data, _losses_by_round(model, data), units, rounds)

    about = f"{data.about}; {rounds} rounds a unit"
    return Job("boosted-trees", data.loss_name, units, about, HISTOGRAM, train)


def gradient_boosting(rng: np.random.Generator, longer: int = 1) -> Job:
    """Gradient boosting by scikit-learn's older classes."""
    data = draw_tabular(rng, 600)
    units, rounds = _length(rng, longer)
    rounds = min(rounds, 2)

    def train(config: Config, seed: int) -> list[float]:
        from sklearn import ensemble

        given = {**config, "n_estimators": units * rounds, "random_state": seed}
        kinds = (ensemble.GradientBoostingRegressor, ensemble.GradientBoostingClassifier)
        model = kinds[bool(data.classes)](**given).fit(data.x, data.y)
        return _by_unit(data, _losses_by_round(model, data), units, rounds)

    about = f"{data.about}; {rounds} rounds a unit"
    return Job("boosted-trees", data.loss_name, units, about, GRADIENT, train)


class Staged(Protocol):
    """A model of scikit-learn that can predict as it would have after each of its rounds."""

    def staged_predict(self, x: Floats, /) -> Iterator[Floats]:
        """Values or classes after each round."""

    def staged_predict_proba(self, x: Floats, /) -> Iterator[Floats]:
        """Chances of classes after each round."""


def _losses_by_round(model: Staged, data: Tabular) -> list[float]:
    """Validation loss of a trained model of scikit-learn after each of its rounds."""
    if data.classes:
        return [log_loss(data.held_y, p) for p in model.staged_predict_proba(data.held_x)]
    return [squared(data.held_y, p) for p in model.staged_predict(data.held_x)]


def _by_unit(data: Tabular, losses: list[float], units: int, rounds: int) -> list[float]:
    """The untrained loss and that after each unit; a model that stopped early keeps its last."""
    ends = [losses[min((unit + 1) * rounds, len(losses)) - 1] for unit in range(units)]
    return [data.base_loss, *(float(end) for end in ends)]
