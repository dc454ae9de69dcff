import lightgbm
from data import X, y

import bhpt  # bhpt
from bhpt.integrations.lightgbm import FOREVER, last_model, reporter  # bhpt


def train(config):
    data = lightgbm.Dataset(X[:300], y[:300], free_raw_data=False)
    lightgbm.train(
        {"objective": "regression", "learning_rate": config["learning_rate"], "verbose": -1},
        data,
        num_boost_round=FOREVER,  # bhpt
        valid_sets=[data.create_valid(X[300:], y[300:])],
        init_model=last_model(),  # bhpt
        callbacks=[reporter(rounds=5)],  # bhpt
    )


if __name__ == "__main__":
    print(bhpt.tune(train, {"learning_rate": (0.01, 0.5, "log")}, "10 epochs", max_epochs=5, metric="l2", study="study.db", if_exists="resume"))  # bhpt
