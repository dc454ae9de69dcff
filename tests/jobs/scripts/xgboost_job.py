import xgboost
from data import X, y

import bhpt  # bhpt
from bhpt.integrations.xgboost import FOREVER, Reporter, last_model  # bhpt


def train(config):
    xgboost.train(
        {"eta": config["eta"], "max_depth": config["max_depth"]},
        xgboost.DMatrix(X[:300], y[:300]),
        num_boost_round=FOREVER,  # bhpt
        evals=[(xgboost.DMatrix(X[300:], y[300:]), "valid")],
        verbose_eval=False,
        xgb_model=last_model(),  # bhpt
        callbacks=[Reporter("valid", rounds=5)],  # bhpt
    )


if __name__ == "__main__":
    print(bhpt.tune(train, {"eta": (0.01, 0.5, "log"), "max_depth": (1, 6)}, "10 epochs", max_epochs=5, metric="rmse", study="study.db", if_exists="resume"))  # bhpt
