"""Tune boosted trees: ten rounds of boosting are an epoch, and a thawed model is boosted on.

python examples/boosted_trees.py "100 epochs"
"""

import sys
from typing import Any

import xgboost
from sklearn.datasets import load_breast_cancer

import bhpt
from bhpt.integrations.xgboost import FOREVER, Reporter, last_model

SPACE = {
    "eta": (0.01, 0.5, "log"),
    "max_depth": (2, 8),
    "subsample": (0.4, 1.0),
    "min_child_weight": (0.1, 20.0, "log"),
}


def boost(config: dict[str, Any]) -> None:
    """Boost one configuration for as long as it is asked to."""
    X, y = load_breast_cancer(return_X_y=True)
    xgboost.train(
        {**config, "objective": "binary:logistic", "eval_metric": "logloss", "nthread": 1},
        xgboost.DMatrix(X[:400], y[:400]),
        num_boost_round=FOREVER,
        evals=[(xgboost.DMatrix(X[400:], y[400:]), "valid")],
        verbose_eval=False,
        xgb_model=last_model(),
        callbacks=[Reporter("valid", rounds=10)],
    )


def main(budget: str) -> None:
    """Tune for the logarithmic loss of what was left out."""
    result = bhpt.tune(
        boost,
        SPACE,
        budget,
        metric="logloss",
        max_epochs=30,
        workers=2,
        study="runs/boosted_trees.db",
        if_exists="resume",
    )
    print(f"best logloss {result.best_loss:.4f} with {result.best_params}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "100 epochs")
