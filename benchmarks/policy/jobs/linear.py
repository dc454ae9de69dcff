"""Linear models and kernel machines by stochastic gradients, and scikit-learn's networks."""

import warnings

import numpy as np

from .data import Tabular, draw_tabular
from .job import Job, log_loss, squared
from .ranges import Axis, Config

SGD = (
    Axis("alpha", (1e-5, 1e-3), (1e-8, 1.0), log=True, always=True),
    Axis("eta0", (0.005, 0.2), (1e-5, 10.0), log=True, always=True),
    Axis("learning_rate", values=("constant", "optimal", "invscaling", "adaptive")),
    Axis("penalty", values=("l2", "l1", "elasticnet")),
    Axis("l1_ratio", (0.05, 0.5), (0.0, 1.0)),
    Axis("power_t", (0.15, 0.5), (0.01, 1.0)),
    Axis("average", values=(False, True)),
)
MLP = (
    Axis("learning_rate_init", (5e-4, 0.01), (1e-6, 1.0), log=True, always=True),
    Axis("alpha", (1e-5, 1e-2), (1e-8, 10.0), log=True),
    Axis("hidden_layer_sizes", (16, 128), (2, 200), log=True, whole=True),
    Axis("batch_size", (16, 128), (4, 512), log=True, whole=True),
    Axis("beta_1", (0.8, 0.95), (0.0, 0.999)),
    Axis("beta_2", (0.98, 0.9995), (0.5, 0.9999)),
    Axis("activation", values=("relu", "tanh", "logistic", "identity")),
)
MLP_SGD = (
    Axis("learning_rate_init", (5e-3, 0.1), (1e-5, 3.0), log=True, always=True),
    Axis("alpha", (1e-5, 1e-2), (1e-8, 10.0), log=True),
    Axis("hidden_layer_sizes", (16, 128), (2, 200), log=True, whole=True),
    Axis("batch_size", (16, 128), (4, 512), log=True, whole=True),
    Axis("momentum", (0.6, 0.95), (0.0, 0.999)),
    Axis("nesterovs_momentum", values=(True, False)),
    Axis("activation", values=("relu", "tanh", "logistic", "identity")),
)


def sgd(rng: np.random.Generator, longer: int = 1) -> Job:
    """A linear model by stochastic gradients; in some tables on random Fourier features."""
    data = draw_tabular(rng, 2000)
    if rng.random() < 0.4:
        data = _kernel(rng, data)
    units = longer * int(rng.integers(8, 51))
    part = float(rng.choice([0.25, 1.0, 1.0]))  # of the examples, seen in a unit
    loss = "log_loss" if data.classes else "squared_error"

    def train(config: Config, seed: int) -> list[float]:
        from sklearn import linear_model  # type: ignore[import-untyped]

        given = {**config, "random_state": seed, "loss": loss}
        if given.get("penalty") is None and "l1_ratio" in given:
            given["penalty"] = "elasticnet"
        kind = linear_model.SGDClassifier if data.classes else linear_model.SGDRegressor
        model = kind(**given)
        return [data.base_loss, *_partial(model, data, units, part, seed)]

    return Job(
        "linear", data.loss_name, units, f"{data.about}; {part:g} of the data a unit", SGD, train
    )


def mlp(rng: np.random.Generator, longer: int = 1) -> Job:
    """A small network by scikit-learn."""
    data = draw_tabular(rng, 1000)
    units = longer * int(rng.integers(10, 41))
    adam = bool(rng.random() < 0.6)

    def train(config: Config, seed: int) -> list[float]:
        from sklearn import neural_network

        given = {**config, "random_state": seed, "solver": "adam" if adam else "sgd"}
        given["hidden_layer_sizes"] = (int(given.get("hidden_layer_sizes", 32)),)
        given["batch_size"] = min(int(given.get("batch_size", 64)), len(data.x))
        kind = neural_network.MLPClassifier if data.classes else neural_network.MLPRegressor
        return [data.base_loss, *_partial(kind(**given), data, units, 1.0, seed)]

    return Job(
        "sklearn-network", data.loss_name, units, data.about, MLP if adam else MLP_SGD, train
    )


def _kernel(rng: np.random.Generator, data: Tabular) -> Tabular:
    """The same data through random Fourier features, as a kernel machine sees them."""
    width = float(rng.choice([0.3, 1.0, 3.0])) / np.sqrt(data.x.shape[1])
    waves = width * rng.standard_normal((data.x.shape[1], 150))
    phase = rng.uniform(0, 2 * np.pi, 150)
    x, held = (np.cos(one @ waves + phase) for one in (data.x, data.held_x))
    return Tabular(x, data.y, held, data.held_y, data.classes, f"{data.about}, random features")


def _partial(model: object, data: Tabular, units: int, part: float, seed: int) -> list[float]:
    """Losses of a scikit-learn model after each unit of `partial_fit`."""
    rng = np.random.default_rng(seed)
    count = max(32, int(part * len(data.x)))
    losses = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(units):
            some = rng.permutation(len(data.x))[:count]
            try:
                losses.append(_step(model, data, some))
            except ValueError:  # weights that are not finite any more: it has diverged
                losses.append(float("nan"))
    return losses


def _step(model: object, data: Tabular, some: np.ndarray) -> float:
    if data.classes:
        model.partial_fit(data.x[some], data.y[some], classes=np.arange(data.classes))  # type: ignore[attr-defined]
        return log_loss(data.held_y, model.predict_proba(data.held_x))  # type: ignore[attr-defined]
    model.partial_fit(data.x[some], data.y[some])  # type: ignore[attr-defined]
    return squared(data.held_y, model.predict(data.held_x))  # type: ignore[attr-defined]
