"""A network's hyper-parameters as the programs read them, and what each of them is by default."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

ACTIVATIONS = ("relu", "tanh", "sigmoid", "elu", "leaky_relu", "swish")
OPTIMIZERS = ("sgd", "nesterov", "adam", "adamw", "rmsprop", "adagrad")
SCHEDULES = ("constant", "exponential", "step", "cosine", "inverse")
CELLS = ("gru", "rnn")
LAYERS = 5
BLOCKS = 3  # of attention
OFF = 1e9  # a norm of gradients that is never clipped
WORDS = {
    "activation": ACTIVATIONS,
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "cell": CELLS,
}

Config = dict[str, Any]


class Arm(NamedTuple):
    """Hyper-parameters of one network, or of many: every array then has one row an arm.

    Attributes:
        lr: Learning rate.
        momentum: Of `sgd` and `nesterov`; elsewhere `beta1` counts.
        beta1: Of Adam.
        beta2: Of Adam and RMSprop.
        eps: What the root of the second moment is increased by.
        weight_decay: Part of the weights that is taken off, times the rate (not by gradient).
        l2: Weight of half the squared weights in the loss.
        l1: Weight of the absolute weights in the loss.
        accum: Steps whose gradients make one update; batch size over examples of a step.
        drop: Dropout of each layer, [LAYERS].
        width: Units of each layer, [LAYERS].
        depth: Hidden layers, 1 .. LAYERS.
        activation: Index into `ACTIVATIONS`.
        optimizer: Index into `OPTIMIZERS`.
        schedule: Index into `SCHEDULES`.
        gamma: What the rate is multiplied by, each unit or at each drop.
        period: Units from drop to drop.
        warmup: Units over which the rate rises.
        init_scale: Factor of the weights at the start.
        smoothing: Part of each label that is spread over all classes.
        latent: Size of the code of an auto-encoder.
        kl: Weight of the divergence in the loss of a variational one.
        sampling: 1 for a variational auto-encoder, 0 for a plain one.
        clip: Largest norm of a gradient.
        noise: Deviation of noise that is added to the input.
        norm: 1 with layer normalisation.
        residual: 1 with connections around layers.
        cell: Index into `CELLS`.
    """

    lr: Any
    momentum: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any
    l2: Any
    l1: Any
    accum: Any
    drop: Any
    width: Any
    depth: Any
    activation: Any
    optimizer: Any
    schedule: Any
    gamma: Any
    period: Any
    warmup: Any
    init_scale: Any
    smoothing: Any
    latent: Any
    kl: Any
    sampling: Any
    clip: Any
    noise: Any
    norm: Any
    residual: Any
    cell: Any


DEFAULTS: Config = {
    "lr": 1e-3,
    "momentum": 0.9,
    "beta1": 0.9,
    "beta2": 0.999,
    "eps": 1e-8,
    "weight_decay": 0.0,
    "l2": 0.0,
    "l1": 0.0,
    "accum": 1,
    "drop": 0.0,
    "width": 64,
    "depth": 2,
    "activation": "relu",
    "optimizer": "adam",
    "schedule": "constant",
    "gamma": 1.0,
    "period": 10.0,
    "warmup": 0.0,
    "init_scale": 1.0,
    "smoothing": 0.0,
    "latent": 8,
    "kl": 1.0,
    "sampling": 1.0,
    "clip": OFF,
    "noise": 0.0,
    "norm": 0.0,
    "residual": 0.0,
    "cell": "gru",
}


def stack(settings: Sequence[Config]) -> Arm:
    """Settings by canonical name as arrays, one row an arm.

    `drop` and `width` may be one number for all layers or `drop1`, `width1` and so on.
    """
    columns: dict[str, Any] = {}
    for name, default in DEFAULTS.items():
        rows = [s.get(name, default) for s in settings]
        if name in ("drop", "width"):
            rows = [
                [s.get(f"{name}{layer + 1}", row) for layer in range(LAYERS)]
                for s, row in zip(settings, rows, strict=True)
            ]
        if name in WORDS:
            rows = [WORDS[name].index(row) for row in rows]
        whole = name in WORDS or name == "accum"
        columns[name] = np.asarray(rows, np.int32 if whole else np.float32)
    return Arm(**columns)
