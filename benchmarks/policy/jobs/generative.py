"""Models that make examples: two networks against each other, and normalising flows.

Notation:
    A  arms, m  examples of a step, D  numbers of an example.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights
from .deep_job import DeepJob, adam_rate, averaged, forward, on_device, pictures, shared, stack
from .ranges import Axis


def _cloud(rng: np.random.Generator, count: int) -> tuple[np.ndarray, str]:
    """Points of a known shape, standardised, or parts of digits."""
    shape = str(rng.choice(["ring", "grid", "moons", "spirals", "digits"]))
    if shape == "digits":
        x, _ = pictures(rng)
        side = int(rng.choice([3, 4]))
        x = x.reshape(-1, 8, 8)[:, 2 : 2 + side, 2 : 2 + side].reshape(-1, side * side)
        x = x + 0.05 * rng.standard_normal(x.shape)
    elif shape == "moons":
        turn = np.pi * rng.random(count)
        upper = rng.random(count) < 0.5
        x = np.column_stack([np.cos(turn), np.sin(turn)]) * np.where(upper, 1, -1)[:, None]
        x = x + np.where(upper[:, None], 0.0, [1.0, 0.4]) + 0.1 * rng.standard_normal((count, 2))
    elif shape == "spirals":
        turn = 3 * np.pi * np.sqrt(rng.random(count))
        sign = rng.choice([-1, 1], count)
        x = (sign * turn)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
        x = x + 0.3 * rng.standard_normal((count, 2))
    else:
        modes = int(rng.integers(3, 10))
        angle = 2 * np.pi * np.arange(modes) / modes
        centres = np.column_stack([np.cos(angle), np.sin(angle)])
        if shape == "grid":
            centres = rng.uniform(-1, 1, (modes, 2))
        x = centres[rng.integers(modes, size=count)]
        x = x + rng.choice([0.03, 0.1]) * rng.standard_normal((count, 2))
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-3), shape


def gan(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A generator and a discriminator; the loss is the energy distance to held examples."""
    x, shape = _cloud(rng, 1600)
    hidden, latent = 32 * widen, int(rng.choice([2, 8]))
    rule = str(rng.choice(["non-saturating", "least-squares", "hinge"]))
    rounds = {"non-saturating": _saturating, "least-squares": _squares, "hinge": _hinge}[rule]

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = on_device(x, draw)
        inside, held = seen[:1200], seen[1200:1328]
        still = torch.Generator(device=draw.device).manual_seed(7)
        fixed = torch.randn(128, latent, generator=still, device=draw.device)
        weights = stack(h, draw, same, (latent, hidden, hidden, x.shape[1]), "made")
        weights |= stack(h, draw, same, (x.shape[1], hidden, hidden, 1), "judge")

        def judged(w: Weights, points: Tensor, using: Draw | None) -> Tensor:
            loud = 0.0
            if using is not None:
                loud = h.wide("noise", 3) * torch.randn(
                    points.shape[1:], generator=using, device=points.device
                )
            return forward(w, h, points + loud, using, "judge")[:, :, 0]

        def loss(w: Weights, some: Tensor) -> Tensor:
            z = torch.randn(len(some), latent, generator=draw, device=draw.device)
            fake = forward(w, h, shared(z, arms), None, "made")
            fooled = judged({n: v.detach() for n, v in w.items()}, fake, draw)
            real = judged(w, shared(inside[some], arms), draw)
            told = judged(w, fake.detach(), draw)
            of_maker, of_judge = rounds(fooled, real, told, h["smoothing"].view(-1, 1))
            drift = h["penalty"].view(-1, 1) * (real**2 + told**2)
            return averaged(of_maker + of_judge + drift, h)

        def measure(w: Weights) -> Tensor:
            fake = forward(w, h, shared(fixed, arms), None, "made")
            return energy_distance(fake, shared(held, arms))

        return Model(weights, loss, measure, 1200, {"judge": "other_lr"})

    axes = (
        adam_rate("g_lr", 1e-4, 2e-3, "lr_g", "generator_lr", "lr"),
        Axis("d_lr", (2e-4, 4e-3), (2e-6, 0.3), log=True, also=("lr_d", "discriminator_lr")),
        Axis("beta1", (0.0, 0.6), (0.0, 0.99), also=("b1", "beta_1")),
        Axis("beta2", (0.9, 0.999), (0.5, 0.9999), also=("b2", "beta_2")),
        Axis("instance_noise", (0.01, 0.2), (1e-4, 3.0), log=True, also=("noise_std",)),
        Axis("label_smoothing", (0.0, 0.1), (0.0, 0.45), also=("one_sided_smoothing",)),
        Axis("epsilon_drift", (1e-4, 1e-2), (1e-6, 1.0), log=True, also=("drift",)),
        Axis("ema_decay", (0.8, 0.99), (0.0, 0.999), also=("g_ema",)),
        Axis("batch_size", (32, 128), (4, 128), log=True, whole=True, also=("bs",)),
        Axis("ngf", (16, hidden), (2, hidden), log=True, whole=True, also=("hidden_dim",)),
    )
    keys = {
        "g_lr": "lr", "d_lr": "other_lr", "instance_noise": "noise", "batch_size": "batch",
        "label_smoothing": "smoothing", "epsilon_drift": "penalty", "ema_decay": "average",
        "ngf": "width",
    }  # fmt: skip
    about = f"{shape}, {x.shape[1]} numbers, {rule}"
    return DeepJob("gan", "energy distance", about, axes, keys, {"batch": 64, "beta1": 0.5}, build)


Players = tuple[Tensor, Tensor]


def _saturating(fooled: Tensor, real: Tensor, told: Tensor, smooth: Tensor) -> Players:
    kept = (1 - smooth) * functional.softplus(-real) + smooth * functional.softplus(real)
    return functional.softplus(-fooled), kept + functional.softplus(told)


def _squares(fooled: Tensor, real: Tensor, told: Tensor, smooth: Tensor) -> Players:
    return (fooled - 1) ** 2, (real - 1 + smooth) ** 2 + told**2


def _hinge(fooled: Tensor, real: Tensor, told: Tensor, smooth: Tensor) -> Players:
    return -fooled, functional.relu(1 - smooth - real) + functional.relu(1 + told)


def energy_distance(a: Tensor, b: Tensor) -> Tensor:
    """Twice the mean distance between the sets less those within, [A]; sets [A, n, D]."""
    within = torch.cdist(a, a).mean(dim=(1, 2)) + torch.cdist(b, b).mean(dim=(1, 2))
    return 2 * torch.cdist(a, b).mean(dim=(1, 2)) - within


def flow(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A flow of affine couplings; the loss is the negative log-likelihood, often below 0."""
    count = int(rng.choice([150, 500, 1200]))
    x, shape = _cloud(rng, count + 300)
    layers, hidden = int(rng.integers(2, 6)), 24 * widen
    size = x.shape[1]
    masks = [np.array([(i + layer) % 2 for i in range(size)], float) for layer in range(layers)]

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = on_device(x, draw)
        inside, held = seen[: min(count, len(x) - 300)], seen[-300:]
        kept = [on_device(mask, draw) for mask in masks]
        weights: Weights = {}
        for layer in range(layers):
            part = stack(h, draw, same, (size, hidden, 2 * size), f"flow{layer}_")
            weights |= {n: 0.3 * v if "_1" in n else v for n, v in part.items()}

        def surprise(w: Weights, points: Tensor, using: Draw | None) -> Tensor:
            z = shared(points, arms)
            if using is not None:
                z = z + h.wide("noise", 3) * torch.randn(
                    points.shape, generator=using, device=points.device
                )
            volume = torch.zeros(arms, z.shape[1], device=z.device)
            for layer, mask in enumerate(kept):
                out = forward(w, h, z * mask, using, f"flow{layer}_", torch.tanh)
                shift, scale = out.chunk(2, dim=2)
                scale = h.wide("gain", 3) * torch.tanh(scale) * (1 - mask)
                z = z * mask + (1 - mask) * (z * scale.exp() + shift)
                volume = volume + scale.sum(dim=2)
            prior = 0.5 * (z**2).sum(dim=2) + 0.5 * size * np.log(2 * np.pi)
            return prior - volume

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(surprise(w, inside[some], draw), h)

        def measure(w: Weights) -> Tensor:
            return surprise(w, held, None).mean(dim=1)

        return Model(weights, loss, measure, len(inside))

    axes = (
        adam_rate("learning_rate", 5e-4, 1e-2, "lr", "initial_lr"),
        Axis("hidden_features", (12, hidden), (1, hidden), log=True, whole=True, also=("nh",)),
        Axis("weight_decay", (1e-6, 1e-4), (1e-8, 1.0), log=True),
        Axis("grad_norm_clip", (1.0, 10.0), (0.01, 100.0), log=True, also=("max_grad_norm",)),
        Axis("dropout_probability", (0.0, 0.1), (0.0, 0.7), also=("dropout",)),
        Axis("noise_std", (1e-3, 0.05), (1e-5, 1.0), log=True, also=("dequantization",)),
        Axis("scale_bound", (0.8, 3.0), (0.05, 10.0), log=True, also=("s_max", "clamp")),
        Axis("batch_size", (32, 128), (4, 128), log=True, whole=True),
        Axis("lr_schedule", values=("constant", "linear", "cosine"), also=("scheduler",)),
    )
    keys = {
        "learning_rate": "lr", "hidden_features": "width", "grad_norm_clip": "clip",
        "dropout_probability": "drop", "noise_std": "noise", "scale_bound": "gain",
        "batch_size": "batch", "lr_schedule": "schedule",
    }  # fmt: skip
    about = f"{shape}, {size} numbers, {count} examples, {layers} couplings"
    fixed = {"batch": 64}
    return DeepJob("normalizing-flow", "negative log-likelihood", about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"gan": gan, "flow": flow}
