"""Ensembles that grow tree by tree without gradients: random forests, extra trees, AdaBoost."""

import numpy as np

from .data import Floats, Tabular, draw_tabular
from .job import Job, log_loss, squared
from .ranges import Axis, Config

FOREST = (
    Axis("max_features", (0.2, 0.7), (0.02, 1.0), always=True, also=("mtry", "feature_fraction")),
    Axis("max_depth", (6, 25), (1, 40), log=True, whole=True),
    Axis("min_samples_leaf", (1, 5), (1, 100), log=True, whole=True, also=("min_node_size",)),
    Axis("min_samples_split", (2, 10), (2, 150), log=True, whole=True),
    Axis("max_leaf_nodes", (60, 400), (2, 1000), log=True, whole=True),
    Axis("max_samples", (0.5, 0.99), (0.03, 0.99), also=("sample_fraction", "subsample")),
    Axis("ccp_alpha", (1e-6, 1e-4), (1e-7, 0.1), log=True),
    Axis("criterion", values=("gini", "entropy")),
)
ADABOOST = (
    Axis("learning_rate", (0.2, 1.2), (0.003, 3.0), log=True, always=True),
    Axis("estimator__max_depth", (2, 6), (1, 14), whole=True, also=("max_depth", "base_depth")),
    Axis("estimator__min_samples_leaf", (1, 20), (1, 200), log=True, whole=True),
    Axis("estimator__max_features", (0.4, 1.0), (0.03, 1.0)),
)


def forest(rng: np.random.Generator, longer: int = 1) -> Job:
    """A random forest or extra trees; a unit is a number of trees."""
    data = draw_tabular(rng, 900)
    units, trees = longer * int(rng.integers(6, 41)), int(rng.choice([1, 1, 2, 4]))
    extra = bool(rng.random() < 0.4)
    by_rank = bool(data.classes == 2 and rng.random() < 0.5)
    axes = tuple(a for a in FOREST if data.classes or a.name != "criterion")

    def train(config: Config, seed: int) -> list[float]:
        from sklearn import ensemble  # type: ignore[import-untyped]

        given = {"bootstrap": True, **config, "n_estimators": units * trees, "random_state": seed}
        kind = {
            (True, True): ensemble.ExtraTreesClassifier,
            (True, False): ensemble.ExtraTreesRegressor,
            (False, True): ensemble.RandomForestClassifier,
            (False, False): ensemble.RandomForestRegressor,
        }[extra, bool(data.classes)]
        model = kind(**given).fit(data.x, data.y)
        total, losses = np.zeros(1), [-0.5 if by_rank else data.base_loss]
        for at, tree in enumerate(model.estimators_):
            said = tree.predict_proba(data.held_x) if data.classes else tree.predict(data.held_x)
            total = total + said
            if (at + 1) % trees == 0:
                losses.append(_loss(data, total / (at + 1), by_rank))
        return losses

    metric = "negative area under the curve" if by_rank else "validation loss"
    about = f"{'extra trees' if extra else 'random forest'}; {data.about}; {trees} trees a unit"
    return Job("random-forest", metric, units, about, axes, train)


def _loss(data: Tabular, said: Floats, by_rank: bool) -> float:
    """Squared error, log loss of smoothed chances, or the negative area under the curve."""
    if by_rank:
        from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

        return -float(roc_auc_score(data.held_y, said[:, 1]))
    if not data.classes:
        return squared(data.held_y, said)
    return log_loss(data.held_y, 0.98 * said + 0.02 / data.classes)


def adaboost(rng: np.random.Generator, longer: int = 1) -> Job:
    """AdaBoost; a unit is a number of trees, the loss is the error rate."""
    data = draw_tabular(rng, 600, values=False)
    units, trees = longer * int(rng.integers(8, 41)), int(rng.choice([1, 2, 3]))

    def train(config: Config, seed: int) -> list[float]:
        from sklearn import ensemble, tree

        of_tree = {k.removeprefix("estimator__"): v for k, v in config.items() if "__" in k}
        stump = tree.DecisionTreeClassifier(**{"max_depth": 1, **of_tree}, random_state=seed)
        model = ensemble.AdaBoostClassifier(
            stump,
            n_estimators=units * trees,
            learning_rate=config["learning_rate"],
            random_state=seed,
        ).fit(data.x, data.y)
        errors = [float(np.mean(y != data.held_y)) for y in model.staged_predict(data.held_x)]
        often = float(np.bincount(data.y.astype(int)).argmax())
        ends = [errors[min((unit + 1) * trees, len(errors)) - 1] for unit in range(units)]
        return [float(np.mean(data.held_y != often)), *ends]

    about = f"{data.about}; {trees} trees a unit"
    return Job("adaboost", "validation error rate", units, about, ADABOOST, train)
