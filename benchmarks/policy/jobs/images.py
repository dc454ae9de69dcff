"""Classifiers of pictures: plain convolutions, residual networks and vision transformers.

Notation:
    A  arms, m  pictures of a step, S  side of a picture, C  colours, D  channels.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked, matrix
from .deep_job import (
    DeepJob,
    adam_rate,
    averaged,
    on_device,
    pictures,
    shared,
    smoothed,
    stack,
    surprises,
)
from .encoders import a_measure, convolved, encoded, encoder, measured, standardised
from .ranges import Axis

Answer = Callable[[Weights, Tensor, Draw | None], Tensor]
HELD = 240


@dataclass(frozen=True, eq=False)
class Photos:
    """Pictures [n, S, S, C] with their classes; the last `HELD` are measured on.

    Attributes:
        x: Pictures.
        y: Classes, some of those to train on wrong.
        classes: How many.
        few: How many are trained on.
        about: In words.
    """

    x: np.ndarray
    y: np.ndarray
    classes: int
    few: int
    about: str


def photos(rng: np.random.Generator) -> Photos:
    """Digits, or coloured gratings of some directions and widths, with noise."""
    few = int(np.exp(rng.uniform(np.log(120), np.log(1200))))
    wrong = float(rng.choice([0.0, 0.0, 0.1, 0.3]))
    if rng.random() < 0.5:
        x, y = pictures(rng)
        x, y = x[: few + HELD].reshape(-1, 8, 8, 1), y[: few + HELD].astype(int)
        classes, what = 10, "digits"
    else:
        classes, noise = int(rng.integers(3, 9)), float(rng.choice([0.3, 0.7, 1.2]))
        y = rng.integers(classes, size=few + HELD)
        turn, pace = rng.uniform(0, np.pi, classes), rng.uniform(0.5, 1.8, classes)
        colour = rng.normal(0, 1, (classes, 3)) * rng.choice([0.1, 0.5]) + 1
        at = np.arange(8)
        way = np.cos(turn)[y, None, None] * at[:, None] + np.sin(turn)[y, None, None] * at
        wave = np.sin(pace[y, None, None] * way + rng.uniform(0, 6, (len(y), 1, 1)))
        x = wave[..., None] * colour[y, None, None]
        x = x + noise * rng.standard_normal(x.shape)
        what = f"{classes} gratings, noise {noise:g}"
    false = rng.random(few) < wrong
    y[:few][false] = rng.integers(classes, size=int(false.sum()))
    return Photos(x, y, classes, few, f"{what}, {few} pictures, {wrong:g} wrong")


def _model(
    h: Hypers, draw: Draw, data: Photos, weights: Weights, answer: Answer, how: str
) -> Model:
    """A classifier with mixed pictures (`mix`), noise (`third_gain`) and smoothed labels."""
    seen, labels = on_device(data.x, draw), on_device(data.y, draw)
    arms = len(h["lr"])

    def loss(w: Weights, some: Tensor) -> Tensor:
        other = some.flip(0)
        part = h.wide("mix", 5)
        jitter = torch.randn(seen[some].shape, generator=draw, device=draw.device)
        x = (1 - part) * seen[some] + part * seen[other] + h.wide("third_gain", 5) * jitter
        logits = answer(w, x, draw)
        right = surprises(logits, labels[some])
        mixed = (1 - h["mix"].view(-1, 1)) * right
        mixed = mixed + h["mix"].view(-1, 1) * surprises(logits, labels[other])
        return averaged(smoothed(mixed, logits, h), h)

    def measure(w: Weights) -> Tensor:
        held = shared(seen[data.few :], arms)
        return measured(answer(w, held, None), labels[data.few :], how)

    return Model(weights, loss, measure, data.few)


def plain_cnn(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Two or three convolutions and a dense layer, with the names that ordinary scripts have."""
    data, how = photos(rng), a_measure(rng)
    most, deep, plain = 8 * widen, int(rng.integers(1, 3)), bool(rng.random() < 0.5)
    hidden = 32 * widen

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        sizes = [9 * data.x.shape[3], *[9 * most] * deep]
        weights: Weights = {}
        for at, rows in enumerate(sizes):
            weights |= stack(h, draw, same, (rows, most), f"conv{at}_")
        side = 8 // 2 ** len(sizes)
        weights |= stack(h, draw, same, (side * side * most, hidden), "hidden")
        weights |= stack(h, draw, same, (hidden, data.classes), "out")

        def answer(w: Weights, x: Tensor, using: Draw | None) -> Tensor:
            for at in range(len(sizes)):
                x = masked(torch.relu(convolved(w, f"conv{at}_0", x)), h["width"])
                arms, m, s, _, size = x.shape
                x = x.view(arms, m, s // 2, 2, s // 2, 2, size).amax(dim=(3, 5))
            flat = torch.relu(dense(w, "hidden0", x.flatten(2)))
            return dense(w, "out0", dropped(flat, h["drop"], using))

        return _model(h, draw, data, weights, answer, how)

    rate = Axis("lr", (5e-3, 0.1), (5e-5, 10.0), log=True, always=True, also=("learning_rate",))
    moment = Axis("momentum", (0.5, 0.95), (0.0, 0.999), also=("mom",))
    first = Axis("beta1", (0.8, 0.95), (0.0, 0.99), also=("b1",))
    axes = (
        rate if plain else adam_rate("lr", 5e-4, 1e-2, "learning_rate"),
        moment if plain else first,
        Axis("weight_decay", (1e-5, 1e-3), (1e-7, 1.0), log=True, also=("wd", "l2_reg")),
        Axis("dropout", (0.1, 0.5), (0.0, 0.9), also=("dropout_rate", "drop_prob", "p")),
        Axis("width", (max(most // 3, 4), most), (1, most), log=True, whole=True,
             also=("channels", "num_filters", "n_channels")),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("bs", "train_batch")),
        Axis("noise_std", (0.01, 0.2), (0.0, 3.0), also=("jitter",)),
        Axis("optimizer", values=("sgd", "adam"), also=("opt",)),
    )  # fmt: skip
    keys = {
        "dropout": "drop", "batch_size": "batch", "noise_std": "third_gain",
    }  # fmt: skip
    fixed = {"optimizer": "sgd" if plain else "adam", "third_gain": 0.0, "mix": 0.0}
    about = f"{data.about}; {deep + 1} convolutions"
    return DeepJob("image-cnn", how, about, axes, keys, fixed, build)


def residual_network(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A small residual network with batch statistics, by momentum as torchvision trains it."""
    data, how = photos(rng), a_measure(rng)
    most, blocks = 8 * widen, int(rng.integers(1, 4))

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        weights = stack(h, draw, same, (9 * data.x.shape[3], most), "stem")
        for at in range(blocks):
            weights |= stack(h, draw, same, (9 * most, most), f"one{at}_")
            weights |= stack(h, draw, same, (9 * most, most), f"two{at}_")
            weights[f"scale{at}"] = h["gain"].view(-1, 1).expand(-1, most).clone()
        weights |= stack(h, draw, same, (most, data.classes), "out")

        def answer(w: Weights, x: Tensor, using: Draw | None) -> Tensor:
            x = masked(torch.relu(standardised(convolved(w, "stem0", x))), h["width"])
            for at in range(blocks):
                inner = torch.relu(standardised(convolved(w, f"one{at}_0", x)))
                inner = standardised(convolved(w, f"two{at}_0", masked(inner, h["width"])))
                x = torch.relu(x + w[f"scale{at}"].view(len(x), 1, 1, 1, -1) * inner)
                x = masked(x, h["width"])
                if at == 0:
                    x = x[:, :, ::2, ::2]
            return dense(w, "out0", dropped(x.mean(dim=(2, 3)), h["drop"], using))

        return _model(h, draw, data, weights, answer, how)

    axes = (
        Axis("lr", (0.02, 0.3), (2e-4, 20.0), log=True, always=True, also=("learning_rate",)),
        Axis("momentum", (0.8, 0.95), (0.0, 0.999)),
        Axis("weight_decay", (5e-5, 1e-3), (1e-7, 1.0), log=True, also=("wd",)),
        Axis("label_smoothing", (0.0, 0.1), (0.0, 0.6), also=("smoothing",)),
        Axis("mixup_alpha", (0.0, 0.2), (0.0, 0.5), also=("mixup",)),
        Axis("lr_warmup_ratio", (0.01, 0.1), (0.001, 0.7), log=True, also=("warmup_ratio",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("train_batch_size",)),
        Axis("base_width", (max(most // 3, 4), most), (1, most), log=True, whole=True,
             also=("width_per_group", "inplanes")),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8), also=("drop_rate",)),
        Axis("bn_gamma_init", (0.0, 1.0), (0.0, 4.0), also=("zero_init_scale",)),
        Axis("lr_scheduler", values=("constant", "linear", "cosine"), also=("scheduler",)),
    )  # fmt: skip
    keys = {
        "label_smoothing": "smoothing", "mixup_alpha": "mix", "lr_warmup_ratio": "warmup",
        "batch_size": "batch", "base_width": "width", "dropout": "drop", "bn_gamma_init": "gain",
        "lr_scheduler": "schedule",
    }  # fmt: skip
    fixed = {"optimizer": "sgd", "third_gain": 0.0, "mix": 0.0, "schedule": "cosine"}
    about = f"{data.about}; {blocks} blocks"
    return DeepJob("residual-network", how, about, axes, keys, fixed, build)


def vision_transformer(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Attention between patches of a picture, with the names of timm."""
    data, how = photos(rng), a_measure(rng)
    width, layers = 12 * widen, int(rng.integers(1, 4))
    size = 4 * data.x.shape[3]

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        weights = stack(h, draw, same, (size, width), "patch")
        weights["place"] = matrix(draw, arms, 16, width, 0.5 * h["init_scale"], same)
        weights |= encoder(h, draw, same, width, layers)
        weights |= stack(h, draw, same, (width, data.classes), "out")

        def answer(w: Weights, x: Tensor, using: Draw | None) -> Tensor:
            m = x.shape[1]
            cut = x.reshape(arms, m, 4, 2, 4, 2, -1).transpose(3, 4).reshape(arms, m * 16, size)
            z = dense(w, "patch0", cut).view(arms, m, 16, width) + w["place"].unsqueeze(1)
            return dense(w, "out0", encoded(w, h, z, layers, using).mean(dim=2))

        return _model(h, draw, data, weights, answer, how)

    axes = (
        adam_rate("lr", 5e-4, 5e-3, "learning_rate", "blr"),
        Axis("weight_decay", (0.01, 0.1), (1e-5, 5.0), log=True, also=("wd",)),
        Axis("drop_path", (0.0, 0.2), (0.0, 0.8), also=("stochastic_depth_prob",)),
        Axis("drop", (0.0, 0.1), (0.0, 0.8), also=("drop_rate", "proj_drop_rate")),
        Axis("attn_drop_rate", (0.0, 0.1), (0.0, 0.8), also=("attention_dropout",)),
        Axis("smoothing", (0.0, 0.1), (0.0, 0.6), also=("label_smoothing",)),
        Axis("mixup", (0.0, 0.3), (0.0, 0.5), also=("mixup_alpha",)),
        Axis("clip_grad", (0.5, 5.0), (0.01, 50.0), log=True, also=("max_norm",)),
        Axis("embed_dim", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("hidden_dim", "dim")),
        Axis("depth", (1, layers), (1, max(layers, 2)), whole=True, also=("num_layers",)),
        Axis("opt_eps", (1e-8, 1e-6), (1e-10, 0.1), log=True, also=("adam_eps",)),
        Axis("model_ema_decay", (0.9, 0.99), (0.0, 0.999)),
        Axis("warmup_ratio", (0.02, 0.15), (0.001, 0.7), log=True),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True),
        Axis("sched", values=("constant", "linear", "cosine"), also=("lr_scheduler",)),
    )  # fmt: skip
    keys = {
        "drop_path": "skip", "attn_drop_rate": "noise", "mixup": "mix", "clip_grad": "clip",
        "embed_dim": "width", "depth": "layers", "opt_eps": "eps", "model_ema_decay": "average",
        "warmup_ratio": "warmup", "batch_size": "batch", "sched": "schedule",
    }  # fmt: skip
    fixed = {"third_gain": 0.0, "mix": 0.0, "schedule": "cosine"}
    about = f"{data.about}; {layers} layers"
    return DeepJob("vision-transformer", how, about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "plain_cnn": plain_cnn,
    "residual_network": residual_network,
    "vision_transformer": vision_transformer,
}
