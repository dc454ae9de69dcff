"""Convolutions over signals and pictures: classes of series, and pictures without their noise.

Notation:
    A  arms, m  examples of a step, L  places of a series, S  side of a picture, D  channels.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked
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
from .encoders import a_measure, convolved, measured
from .ranges import Axis

HELD = 240


def _signals(rng: np.random.Generator, few: int, length: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Series of some channels [n, L, C] whose class is a wave, a bump or a trend, and classes."""
    classes, channels = int(rng.integers(2, 7)), int(rng.choice([1, 3]))
    y = rng.integers(classes, size=few + HELD)
    t = np.linspace(0, 1, length)
    pace, mix = rng.uniform(1, 6, (classes, 2)), rng.standard_normal((classes, channels))
    shift = rng.uniform(0, 1, (len(y), 1))
    waves = np.sin(2 * np.pi * (pace[y, :1] * t + shift))
    bump = np.exp(-((t - rng.uniform(0.2, 0.8, (len(y), 1))) ** 2) * (20 * pace[y, 1:]))
    trend = rng.normal(0, 1, (len(y), 1)) * t
    x = (waves + 1.5 * bump + trend)[:, :, None] * (1 + 0.4 * mix[y, None])
    x = x + rng.choice([0.3, 1.0, 2.0]) * rng.standard_normal(x.shape)
    wrong = np.flatnonzero(rng.random(few) < rng.choice([0.0, 0.0, 0.2]))
    y[wrong] = rng.integers(classes, size=len(wrong))
    return x, y, classes


def _along(w: Weights, name: str, x: Tensor, reach: int) -> Tensor:
    """A convolution over places that are `reach` apart, [A, m, L, D] to [A, m, L, columns]."""
    arms, m, length, _ = x.shape
    padded = functional.pad(x, (0, 0, reach, reach))
    near = torch.cat([padded[:, :, at * reach : at * reach + length] for at in range(3)], dim=3)
    return dense(w, name, near.view(arms, m * length, -1)).view(arms, m, length, -1)


def series_classes(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Which class a series is of, by convolutions that reach further layer by layer."""
    few, length = int(rng.choice([60, 250, 1000])), int(rng.choice([24, 48]))
    x, y, classes = _signals(rng, few, length)
    most, layers, how = 8 * widen, int(rng.integers(2, 5)), a_measure(rng)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, labels = on_device(x, draw), on_device(y, draw)
        weights: Weights = {}
        for at in range(layers):
            rows = 3 * (x.shape[2] if at == 0 else most)
            weights |= stack(h, draw, same, (rows, most), f"conv{at}_")
        weights |= stack(h, draw, same, (most, classes), "out")

        def answer(w: Weights, z: Tensor, using: Draw | None) -> Tensor:
            for at in range(layers):
                on = 1.0 if at == 0 else (h["layers"] > at).view(-1, 1, 1, 1)
                new = _along(w, f"conv{at}_0", z, 2**at)
                mean = new.mean(dim=(1, 2), keepdim=True)
                spread = new.var(dim=(1, 2), keepdim=True, unbiased=False)
                new = masked(torch.relu((new - mean) / torch.sqrt(spread + 1e-5)), h["width"])
                new = dropped(new, h["drop"], using) * on
                z = new if at == 0 else z + new
            return dense(w, "out0", z.mean(dim=2))

        def loss(w: Weights, some: Tensor) -> Tensor:
            jitter = torch.randn(seen[some].shape, generator=draw, device=draw.device)
            logits = answer(w, seen[some] + h.wide("noise", 4) * jitter, draw)
            return averaged(smoothed(surprises(logits, labels[some]), logits, h), h)

        def measure(w: Weights) -> Tensor:
            held = shared(seen[few:], arms)
            return measured(answer(w, held, None), labels[few:], how)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("lr", 1e-3, 1e-2, "learning_rate", "lr_max"),
        Axis("n_filters", (max(most // 3, 4), most), (1, most), log=True, whole=True,
             also=("nf", "nb_filters", "num_channels")),
        Axis("depth", (2, layers), (1, layers), whole=True, also=("n_layers", "num_levels")),
        Axis("dropout", (0.0, 0.3), (0.0, 0.9), also=("fc_dropout", "dropout_rate")),
        Axis("weight_decay", (1e-4, 0.05), (1e-6, 3.0), log=True, also=("wd",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("bs",)),
        Axis("label_smoothing", (0.0, 0.1), (0.0, 0.6)),
        Axis("jitter", (0.01, 0.3), (0.0, 3.0), also=("noise_std", "aug_sigma")),
        Axis("lr_scheduler", values=("constant", "linear", "cosine"), also=("schedule",)),
    )  # fmt: skip
    keys = {
        "n_filters": "width", "depth": "layers", "dropout": "drop", "batch_size": "batch",
        "label_smoothing": "smoothing", "jitter": "noise", "lr_scheduler": "schedule",
    }  # fmt: skip
    about = f"{classes} classes, {few} series of {length}; {layers} layers"
    return DeepJob("series-classification", how, about, axes, keys, {"batch": 32}, build)


def denoiser(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A convolutional auto-encoder: pictures through a narrow place, or without their noise."""
    x, _ = pictures(rng)
    few, loud = int(rng.choice([100, 400, 1200])), float(rng.choice([0.0, 0.2, 0.5]))
    most, deepest = 8 * widen, 8 * widen
    cross = bool(rng.random() < 0.4)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms, size = len(h["lr"]), 16 * most
        seen = on_device(x[: few + HELD].reshape(-1, 8, 8, 1), draw)
        weights = stack(h, draw, same, (9, most), "down")
        weights |= stack(h, draw, same, (size, deepest), "code")
        weights |= stack(h, draw, same, (deepest, size), "open")
        weights |= stack(h, draw, same, (9 * most, 4), "up")
        quiet = torch.Generator(device=draw.device).manual_seed(7)
        fixed = loud * torch.randn(seen[few:].shape, generator=quiet, device=draw.device)

        def answer(w: Weights, z: Tensor, using: Draw | None) -> Tensor:
            m = z.shape[1]
            z = masked(torch.relu(convolved(w, "down0", z, 2)), h["width"])
            code = masked(dense(w, "code0", z.flatten(2)), h["rank"])
            z = torch.relu(dense(w, "open0", dropped(code, h["drop"], using)))
            z = masked(z.view(arms, m, 4, 4, most), h["width"])
            out = convolved(w, "up0", z).view(arms, m, 4, 4, 2, 2).transpose(3, 4)
            return out.reshape(arms, m, 64)

        def off(out: Tensor, wanted: Tensor) -> Tensor:
            right = wanted.flatten(1)
            if not cross:
                return ((out - right) ** 2).mean(dim=2)
            each = right * functional.softplus(-out) + (1 - right) * functional.softplus(out)
            return each.mean(dim=2)

        def loss(w: Weights, some: Tensor) -> Tensor:
            clean = seen[some]
            noise = torch.randn(clean.shape, generator=draw, device=draw.device)
            return averaged(off(answer(w, clean + h.wide("noise", 5) * noise, draw), clean), h)

        def measure(w: Weights) -> Tensor:
            held = seen[few:]
            return off(answer(w, shared(held + fixed, arms), None), held).mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("learning_rate", 1e-3, 1e-2, "lr"),
        Axis("latent_dim", (8, deepest), (1, deepest), log=True, whole=True,
             also=("bottleneck", "encoding_dim", "code_size")),
        Axis("filters", (max(most // 3, 4), most), (1, most), log=True, whole=True,
             also=("base_channels", "n_filters")),
        Axis("noise_factor", (loud / 2 + 0.02, loud + 0.15), (0.0, 2.0),
             also=("noise_std", "corruption_level")),
        Axis("dropout", (0.0, 0.1), (0.0, 0.8), also=("dropout_rate",)),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True),
        Axis("beta_1", (0.85, 0.95), (0.0, 0.99), also=("adam_beta1",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True),
        Axis("optimizer", values=("adam", "sgd")),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "latent_dim": "rank", "filters": "width", "noise_factor": "noise",
        "dropout": "drop", "beta_1": "beta1", "batch_size": "batch",
    }  # fmt: skip
    metric = "validation binary cross-entropy" if cross else "validation squared error"
    about = f"{few} digits, noise {loud:g}"
    fixed = {"batch": 32, "noise": loud}
    return DeepJob("image-autoencoder", metric, about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "series_classes": series_classes,
    "denoiser": denoiser,
}
