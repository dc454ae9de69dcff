import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
from data import X, y

import bhpt  # bhpt
from bhpt.integrations.keras import FOREVER, Reporter, last_model  # bhpt


def build(config):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(config["lr"]), "mse")
    return model


def train(config):
    model = last_model() or build(config)  # bhpt
    model.fit(X[:300], y[:300], validation_data=(X[300:], y[300:]), verbose=0, epochs=FOREVER, callbacks=[Reporter()])  # bhpt


if __name__ == "__main__":
    print(bhpt.tune(train, {"lr": (1e-3, 1.0, "log")}, "8 epochs", max_epochs=4, metric="val_loss", study="study.db", if_exists="resume"))  # bhpt
