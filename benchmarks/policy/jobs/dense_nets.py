"""Fully connected networks: on tables as Keras and PyTorch users write them, and beta-VAEs.

Notation:
    A  arms, m  examples of a step, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked
from .data import draw_tabular
from .deep_job import (
    DeepJob,
    adam_rate,
    averaged,
    forward,
    on_device,
    pictures,
    shared,
    stack,
    surprises,
)
from .ranges import Axis


def _bent(x: Tensor, h: Hypers) -> Tensor:
    """Each arm's own activation, [A, m, D]."""
    which = h.wide("activation", 3)
    soft = torch.where(which == 1, torch.tanh(x), functional.gelu(x))
    return torch.where(which == 0, torch.relu(x), soft)


KERAS = (
    Axis("units", (16, 128), (2, 128), log=True, whole=True),
    Axis("dropout_rate", (0.0, 0.3), (0.0, 0.9), also=("dropout", "rate")),
    Axis("l2", (1e-6, 1e-3), (1e-9, 1.0), log=True, also=("kernel_regularizer", "l2_reg")),
    Axis("num_layers", (1, 3), (1, 4), whole=True, also=("n_hidden_layers", "num_dense_layers")),
    Axis("batch_size", (16, 64), (2, 64), log=True, whole=True),
    Axis("activation", values=("relu", "tanh", "gelu")),
    Axis("clipnorm", (0.5, 5.0), (0.01, 50.0), log=True),
)
TORCH = (
    Axis("hidden_dim", (16, 128), (2, 128), log=True, whole=True, also=("hidden_size", "width")),
    Axis("p", (0.0, 0.3), (0.0, 0.9), also=("dropout", "dropout_p")),
    Axis("weight_decay", (1e-6, 1e-2), (1e-9, 3.0), log=True, also=("wd",)),
    Axis("n_layers", (1, 3), (1, 4), whole=True, also=("num_layers", "depth")),
    Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("bs", "train_batch_size")),
    Axis("activation", values=("relu", "tanh", "gelu")),
    Axis("scheduler", values=("constant", "linear", "cosine"), also=("lr_schedule",)),
)
NAMES = {
    "learning_rate": "lr", "units": "width", "dropout_rate": "drop", "num_layers": "layers",
    "batch_size": "batch", "clipnorm": "clip", "hidden_dim": "width", "p": "drop",
    "n_layers": "layers", "scheduler": "schedule", "beta_1": "beta1",
}  # fmt: skip


def tabular_network(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A network of up to four layers on a table; half of the tables ask for values."""
    data = draw_tabular(rng, 1000, values=bool(rng.random() < 0.5))
    width, outputs = min(32 * widen, 128), max(data.classes, 1)
    keras, plain = bool(rng.random() < 0.5), bool(rng.random() < 0.4)
    absolute = bool(rng.random() < 0.3)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        kind = int if data.classes else float
        x, held = on_device(data.x, draw), on_device(data.held_x[:400], draw)
        y, asked = (on_device(part.astype(kind), draw) for part in (data.y, data.held_y[:400]))
        weights = stack(h, draw, same, (data.x.shape[1], width, width, width, width, outputs))

        def answer(w: Weights, points: Tensor, using: Draw | None) -> Tensor:
            z = masked(_bent(dense(w, "dense0", shared(points, arms)), h), h["width"])
            z = dropped(z, h["drop"], using)
            for layer in (1, 2, 3):
                inner = masked(_bent(dense(w, f"dense{layer}", z), h), h["width"])
                on = (h["layers"] > layer).view(-1, 1, 1)
                z = torch.where(on, dropped(inner, h["drop"], using), z)
            return dense(w, "dense4", z)

        def losses(out: Tensor, wanted: Tensor) -> Tensor:
            return surprises(out, wanted) if data.classes else (out[:, :, 0] - wanted) ** 2

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(losses(answer(w, x[some], draw), y[some]), h)

        def measure(w: Weights) -> Tensor:
            each = losses(answer(w, held, None), asked)
            return (each.sqrt() if absolute and not data.classes else each).mean(dim=1)

        return Model(weights, loss, measure, len(data.x))

    rate = "learning_rate" if keras else "lr"
    axes = (
        Axis(rate, (3e-3, 0.1), (3e-5, 5.0), log=True, always=True)
        if plain
        else adam_rate(rate, 5e-4, 1e-2),
        Axis("momentum", (0.5, 0.95), (0.0, 0.999))
        if plain
        else Axis("beta_1" if keras else "beta1", (0.8, 0.95), (0.0, 0.999)),
        *(KERAS if keras else TORCH),
    )
    metric = data.loss_name
    if absolute and not data.classes:
        metric = "validation absolute error"
    fixed = {"optimizer": "sgd" if plain else "adam", "layers": 2}
    return DeepJob("tabular-network", metric, data.about, axes, NAMES, fixed, build)


def beta_vae(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """An auto-encoder whose code costs beta; its loss is the bound at beta 1, or the error."""
    x, _ = pictures(rng)
    x = x.copy()
    x[rng.random(len(x)) < float(rng.choice([0.0, 0.5]))] *= 0.5  # some are pale
    few, hidden, most = int(rng.choice([150, 600, 1200])), 32 * widen, 24
    error = bool(rng.random() < 0.4)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = on_device(x, draw)
        weights = stack(h, draw, same, (64, hidden, 2 * most), "into")
        weights |= stack(h, draw, same, (most, hidden, 64), "outof")

        def parts(w: Weights, some: Tensor, using: Draw | None) -> tuple[Tensor, Tensor]:
            centre, spread = forward(w, h, shared(some, arms), using, "into").chunk(2, dim=2)
            spread = spread.clamp(-8, 8)
            code = centre
            if using is not None:
                chance = torch.randn(centre.shape[1:], generator=using, device=some.device)
                code = centre + (spread / 2).exp() * chance
            guess = forward(w, h, masked(code, h["rank"]), using, "outof")
            off = (functional.softplus(guess) - some * guess).sum(dim=2)
            cost = 0.5 * (centre**2 + spread.exp() - 1 - spread)
            return off, masked(cost.clamp(min=h.wide("margin", 3)), h["rank"]).sum(dim=2)

        def loss(w: Weights, some: Tensor) -> Tensor:
            off, cost = parts(w, seen[some], draw)
            return averaged(off + h["gain"].view(-1, 1) * cost, h)

        def measure(w: Weights) -> Tensor:
            off, cost = parts(w, seen[1300:], None)
            return (off if error else off + cost).mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("lr", 5e-4, 5e-3, "learning_rate"),
        Axis("beta", (0.3, 2.0), (0.005, 100.0), log=True, always=True,
             also=("kl_weight", "kld_weight", "beta_kl")),
        Axis("latent_dim", (6, 20), (1, most), log=True, whole=True,
             also=("z_dim", "latent_size", "n_latent")),
        Axis("hidden_dim", (max(hidden // 3, 8), hidden), (2, hidden), log=True, whole=True,
             also=("h_dim", "intermediate_dim", "n_hidden")),
        Axis("free_bits", (0.0, 0.05), (0.0, 2.0), also=("kl_min",)),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True),
        Axis("dropout", (0.0, 0.1), (0.0, 0.8), also=("dropout_rate",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("bs",)),
    )  # fmt: skip
    keys = {
        "beta": "gain", "latent_dim": "rank", "hidden_dim": "width", "free_bits": "margin",
        "dropout": "drop", "batch_size": "batch",
    }  # fmt: skip
    metric = "validation reconstruction error" if error else "negative evidence bound"
    about = f"digits, {few} pictures"
    return DeepJob("beta-vae", metric, about, axes, keys, {"margin": -10.0, "rank": 16}, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "tabular_network": tabular_network,
    "beta_vae": beta_vae,
}
