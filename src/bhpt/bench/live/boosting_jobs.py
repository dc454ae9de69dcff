"""Boosted trees by XGBoost and LightGBM; an epoch is a few rounds."""

from typing import Any

import numpy as np

from bhpt.bench.live.job import Pickled, generated_classes, log_loss
from bhpt.domain import FloatArray
from bhpt.spaces import Config

_DATA = generated_classes(7, 800, 20, 3)
_ROUNDS = 2


class Xgboost(Pickled):
    """XGBoost, two rounds an epoch."""

    def __init__(self, config: Config) -> None:
        self.given = {
            **config,
            "objective": "multi:softprob",
            "num_class": _DATA.classes,
            "nthread": 1,
            "seed": 0,
            "verbosity": 0,
        }
        self.model: Any = None

    def step(self) -> float:
        """Two more rounds; returns the validation log loss."""
        import xgboost  # only where this job runs

        data = xgboost.DMatrix(_DATA.x, _DATA.y, nthread=1)
        self.model = xgboost.train(self.given, data, _ROUNDS, xgb_model=self.model)
        chances: FloatArray = self.model.predict(xgboost.DMatrix(_DATA.held_x, nthread=1))
        return log_loss(_DATA.held_y, chances)


class Lightgbm(Pickled):
    """LightGBM, two rounds an epoch; it goes on from the text of its model."""

    def __init__(self, config: Config) -> None:
        self.given = {
            **config,
            "objective": "multiclass",
            "num_class": _DATA.classes,
            "num_threads": 1,
            "seed": 0,
            "verbosity": -1,
            "bagging_freq": 1,
        }
        self.text: str | None = None

    def step(self) -> float:
        """Two more rounds; returns the validation log loss."""
        import lightgbm  # only where this job runs

        data = lightgbm.Dataset(_DATA.x, _DATA.y, params={"verbosity": -1})
        before = None if self.text is None else lightgbm.Booster(model_str=self.text)
        model = lightgbm.train(self.given, data, _ROUNDS, init_model=before)
        self.text = model.model_to_string()
        return log_loss(_DATA.held_y, np.asarray(model.predict(_DATA.held_x)))
