"""The live jobs by name."""

import importlib
import importlib.util
from typing import cast

from bhpt.bench.live.gpu_jobs import GPU
from bhpt.bench.live.job import LiveJob, TrainerClass
from bhpt.bench.live.later_jobs import LATER
from bhpt.bench.live.untouched_jobs import UNTOUCHED
from bhpt.domain import Misuse
from bhpt.examples.digits import SPACE

_HERE = "bhpt.bench.live"

JOBS = (
    LiveJob(
        "numpy-network",
        f"{_HERE}.numpy_jobs:NumpyNetwork",
        "numpy",
        {
            "lr": (1e-4, 3.0, "log"),
            "momentum": (0.0, 0.99),
            "width": (4, 64, "log"),
            "batch_size": (8, 256, "log"),
            "weight_decay": (1e-6, 1e-1, "log"),
            "init_scale": (0.05, 3.0, "log"),
        },
        {
            "lr": 0.1,
            "momentum": 0.9,
            "width": 32,
            "batch_size": 32,
            "weight_decay": 1e-4,
            "init_scale": 1.0,
        },
        40,
    ),
    LiveJob(
        "factorisation",
        f"{_HERE}.numpy_jobs:Factorisation",
        "numpy",
        {
            "lr": (1e-4, 0.3, "log"),
            "rank": (1, 24, "log"),
            "reg": (1e-4, 1.0, "log"),
            "batch_size": (8, 256, "log"),
            "init_scale": (0.01, 1.0, "log"),
        },
        {"lr": 0.02, "rank": 8, "reg": 0.02, "batch_size": 32, "init_scale": 0.1},
        40,
    ),
    LiveJob(
        "autoencoder",
        f"{_HERE}.numpy_jobs:Autoencoder",
        "numpy",
        {
            "lr": (1e-5, 0.3, "log"),
            "code_size": (2, 16),
            "batch_size": (8, 256, "log"),
            "one_minus_beta1": (0.01, 0.5, "log"),
            "init_scale": (0.01, 1.0, "log"),
        },
        {
            "lr": 1e-3,
            "code_size": 8,
            "batch_size": 32,
            "one_minus_beta1": 0.1,
            "init_scale": 0.1,
        },
        40,
    ),
    LiveJob(
        "sklearn-mlp",
        f"{_HERE}.sklearn_jobs:SklearnNetwork",
        "sklearn",
        {
            "learning_rate_init": (1e-5, 0.3, "log"),
            "hidden": (4, 128, "log"),
            "alpha": (1e-6, 1.0, "log"),
            "batch_size": (8, 256, "log"),
            "one_minus_beta1": (0.01, 0.5, "log"),
            "activation": ["relu", "tanh", "logistic"],
        },
        {
            "learning_rate_init": 1e-3,
            "hidden": 100,
            "alpha": 1e-4,
            "batch_size": 200,
            "one_minus_beta1": 0.1,
            "activation": "relu",
        },
        40,
    ),
    LiveJob(
        "sklearn-sgd",
        f"{_HERE}.sklearn_jobs:SklearnLinear",
        "sklearn",
        {
            "alpha": (1e-7, 1e-1, "log"),
            "eta0": (1e-4, 1.0, "log"),
            "power_t": (0.05, 0.9),
            "l1_ratio": (0.0, 1.0),
            "penalty": ["l2", "l1", "elasticnet"],
            "learning_rate": ["constant", "invscaling", "optimal"],
        },
        {
            "alpha": 1e-4,
            "eta0": 0.01,
            "power_t": 0.25,
            "l1_ratio": 0.15,
            "penalty": "l2",
            "learning_rate": "optimal",
        },
        30,
    ),
    LiveJob(
        "hist-boosting",
        f"{_HERE}.sklearn_jobs:SklearnBoosting",
        "sklearn",
        {
            "learning_rate": (0.003, 1.0, "log"),
            "max_leaf_nodes": (2, 64, "log"),
            "min_samples_leaf": (1, 100, "log"),
            "l2_regularization": (1e-6, 100.0, "log"),
            "max_features": (0.1, 1.0),
        },
        {
            "learning_rate": 0.1,
            "max_leaf_nodes": 31,
            "min_samples_leaf": 20,
            "l2_regularization": 1e-6,
            "max_features": 1.0,
        },
        30,
    ),
    LiveJob(
        "xgboost",
        f"{_HERE}.boosting_jobs:Xgboost",
        "xgboost",
        {
            "eta": (0.003, 1.0, "log"),
            "max_depth": (1, 12),
            "min_child_weight": (0.1, 64.0, "log"),
            "subsample": (0.2, 1.0),
            "colsample_bytree": (0.2, 1.0),
            "lambda": (1e-3, 100.0, "log"),
        },
        {
            "eta": 0.3,
            "max_depth": 6,
            "min_child_weight": 1.0,
            "subsample": 1.0,
            "colsample_bytree": 1.0,
            "lambda": 1.0,
        },
        40,
    ),
    LiveJob(
        "lightgbm",
        f"{_HERE}.boosting_jobs:Lightgbm",
        "lightgbm",
        {
            "learning_rate": (0.003, 1.0, "log"),
            "num_leaves": (2, 128, "log"),
            "min_child_samples": (1, 100, "log"),
            "subsample": (0.2, 1.0),
            "colsample_bytree": (0.2, 1.0),
            "reg_lambda": (1e-6, 100.0, "log"),
        },
        {
            "learning_rate": 0.1,
            "num_leaves": 31,
            "min_child_samples": 20,
            "subsample": 1.0,
            "colsample_bytree": 1.0,
            "reg_lambda": 1e-6,
        },
        40,
    ),
    LiveJob(
        "torch-cnn",
        f"{_HERE}.torch_jobs:TorchNetwork",
        "torch",
        {
            "lr": (1e-4, 1.0, "log"),
            "momentum": (0.0, 0.99),
            "weight_decay": (1e-6, 1e-1, "log"),
            "dropout": (0.0, 0.7),
            "channels": (2, 16, "log"),
            "batch_size": (16, 256, "log"),
        },
        {
            "lr": 0.01,
            "momentum": 0.9,
            "weight_decay": 1e-4,
            "dropout": 0.2,
            "channels": 8,
            "batch_size": 32,
        },
        30,
    ),
)

KEPT = (
    LiveJob(
        "random-features",
        f"{_HERE}.kept_jobs:RandomFeatures",
        "numpy",
        {
            "lr": (1e-3, 30.0, "log"),
            "momentum": (0.0, 0.99),
            "gamma": (1e-3, 1.0, "log"),
            "n_components": (16, 400, "log"),
            "l2": (1e-7, 1e-1, "log"),
            "batch_size": (8, 200, "log"),
        },
        {
            "lr": 1.0,
            "momentum": 0.9,
            "gamma": 0.03,
            "n_components": 100,
            "l2": 1e-4,
            "batch_size": 32,
        },
        40,
    ),
    LiveJob(
        "sgd-regression",
        f"{_HERE}.kept_jobs:SgdRegression",
        "sklearn",
        {
            "alpha": (1e-7, 1e-1, "log"),
            "eta0": (1e-5, 0.1, "log"),
            "power_t": (0.05, 0.9),
            "penalty": ["l2", "l1", "elasticnet"],
            "degree": (1, 3),
            "loss": ["squared_error", "huber", "epsilon_insensitive"],
        },
        {
            "alpha": 1e-4,
            "eta0": 0.01,
            "power_t": 0.25,
            "penalty": "l2",
            "degree": 1,
            "loss": "squared_error",
        },
        30,
    ),
    LiveJob(
        "lightgbm-regression",
        f"{_HERE}.kept_jobs:LightgbmRegression",
        "lightgbm",
        {
            "learning_rate": (0.003, 1.0, "log"),
            "num_leaves": (2, 64, "log"),
            "min_child_samples": (1, 100, "log"),
            "feature_fraction": (0.2, 1.0),
            "lambda_l2": (1e-3, 100.0, "log"),
        },
        {
            "learning_rate": 0.1,
            "num_leaves": 31,
            "min_child_samples": 20,
            "feature_fraction": 1.0,
            "lambda_l2": 1e-3,
        },
        40,
    ),
    LiveJob(
        "lstm",
        f"{_HERE}.torch_jobs:Lstm",
        "torch",
        {
            "learning_rate": (1e-4, 0.3, "log"),
            "hidden_size": (4, 32, "log"),
            "batch_size": (16, 200, "log"),
            "beta1": (0.5, 0.99),
            "weight_decay": (1e-6, 1e-1, "log"),
            "clip_norm": (0.05, 10.0, "log"),
        },
        {
            "learning_rate": 1e-3,
            "hidden_size": 16,
            "batch_size": 32,
            "beta1": 0.9,
            "weight_decay": 1e-6,
            "clip_norm": 1.0,
        },
        40,
    ),
)
"""Jobs to judge predictions on; `bhpt bench live --jobs` names them to run them."""

EXAMPLE = LiveJob(
    "digits",
    "bhpt.examples.digits:Digits",
    "sklearn",
    SPACE,
    {
        "rate": 0.1,
        "momentum": 0.9,
        "hidden": 32,
        "batch": 32,
        "decay": 1e-4,
        "activation": "relu",
    },
    40,
)
"""What `make tune` tunes; nothing was chosen on it."""

_BY_NAME = {job.name: job for job in (*JOBS, *KEPT, *UNTOUCHED, *LATER, *GPU, EXAMPLE)}


def find(name: str) -> LiveJob:
    """The job with a name.

    Raises:
        Misuse: If there is none.
    """
    if name not in _BY_NAME:
        raise Misuse(f"unknown job {name!r}: there are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def missing(job: LiveJob) -> str | None:
    """A line about the package that a job lacks, None if it can run."""
    if importlib.util.find_spec(job.package) is not None:
        return None
    return f"job {job.name} needs {job.package}, which is not installed here: left out"


def trainer_class(job: LiveJob) -> TrainerClass:
    """The class that trains a job."""
    module, name = job.trainer.split(":")
    return cast("TrainerClass", vars(importlib.import_module(module))[name])
