"""Finer pictures: by networks from coarse ones, and by fitting a cloud of Gaussians to one.

Losses are negative peak signal-to-noise ratios in decibels, as both are reported.

Notation:
    A  arms, m  pictures of a step, S  side of a picture, D  channels, G  Gaussians.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, masked
from .deep_job import DeepJob, adam_rate, as_wide, averaged, on_device, shared, stack
from .encoders import convolved
from .ranges import Axis

HELD, COARSE, FINE = 120, 6, 12
SIDE, MOST = 20, 160  # of the picture that Gaussians are fitted to; how many there are at most
EXTENT = 16.0  # of a scene in units of places, as rates of places are written for


def noise_ratio(square: Tensor) -> Tensor:
    """The negative peak signal-to-noise ratio of a mean squared error."""
    return 10 * square.log10()


def textures(rng: np.random.Generator, count: int, at: np.ndarray) -> np.ndarray:
    """Pictures of waves and edges from 0 to 1, at points [n, 2] of a square, [count, n]."""
    x = np.zeros((count, len(at)))
    for _ in range(3):
        way = rng.normal(0, rng.choice([4.0, 10.0]), (count, 2))
        x += rng.normal(0, 1, (count, 1)) * np.sin(way @ at.T + rng.uniform(0, 6, (count, 1)))
    cut, side = rng.uniform(-1, 1, (count, 2)), rng.uniform(-0.5, 0.5, (count, 1))
    x += 1.5 * (cut @ (at.T - 0.5) > 0.3 * side)
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    return np.asarray((x - low) / (high - low + 1e-9))


def grid(side: int, shift: float = 0.5) -> np.ndarray:
    """Points of the unit square row by row, [side * side, 2]."""
    at = (np.arange(side) + shift) / side
    return np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 2)


def _resolved(w: Weights, h: Hypers, x: Tensor, blocks: int) -> Tensor:
    """Fine pictures [A, m, FINE, FINE] of coarse ones [m, COARSE, COARSE, 1]."""
    arms, m = len(h["lr"]), len(x)
    z = first = masked(convolved(w, "into0", shared(x, arms)), h["width"])
    for at in range(blocks):
        inner = torch.relu(convolved(w, f"one{at}_0", z))
        inner = masked(convolved(w, f"two{at}_0", masked(inner, h["width"])), h["width"])
        z = z + (h["layers"] > at).view(-1, 1, 1, 1, 1) * h.wide("gain", 5) * inner
    out = convolved(w, "up0", z + first).view(arms, m, COARSE, COARSE, 2, 2)
    fine = out.transpose(3, 4).reshape(arms, m, FINE, FINE)
    return fine + x[..., 0].repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)


def _resolution_axes(most: int, blocks: int, wide: float) -> tuple[Axis, ...]:
    return (
        adam_rate("lr", 5e-4 / wide, 5e-3 / wide, "learning_rate", "lr_g"),
        Axis("num_feat", (max(most // 3, 4), most), (1, most), log=True, whole=True,
             also=("n_feats", "num_channels")),
        Axis("num_block", (1, blocks), (1, max(blocks, 2)), whole=True, also=("n_resblocks",)),
        Axis("res_scale", (0.1, 1.0), (0.005, 8.0), log=True),
        Axis("beta1", (0.85, 0.95), (0.0, 0.99), also=("adam_beta1",)),
        Axis("beta2", (0.98, 0.999), (0.5, 0.9999), also=("adam_beta2",)),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 3.0), log=True),
        Axis("ema_decay", (0.9, 0.99), (0.0, 0.9999)),
        Axis("batch_size_per_gpu", (8, 32), (1, 32), log=True, whole=True, also=("batch_size",)),
        Axis("loss_type", values=("l1", "l2"), also=("pixel_loss", "criterion")),
        Axis("scheduler", values=("constant", "linear", "cosine"), also=("lr_scheduler",)),
        Axis("grad_clip", (0.05, 2.0), (1e-3, 50.0), log=True, also=("gclip",)),
    )  # fmt: skip


def super_resolution(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A residual network that doubles the side of pictures, with the names of BasicSR and EDSR."""
    few, blocks, most = int(rng.choice([60, 300, 1200])), int(rng.integers(1, 4)), 6 * widen
    fine = textures(rng, few + HELD, grid(FINE)).reshape(-1, FINE, FINE)
    loud = float(rng.choice([0.0, 0.05]))
    coarse = fine.reshape(-1, COARSE, 2, COARSE, 2).mean(axis=(2, 4))
    coarse = coarse + loud * rng.standard_normal(coarse.shape)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        low, high = on_device(coarse[..., None], draw), on_device(fine, draw)
        weights = stack(h, draw, same, (9, most), "into")
        for at in range(blocks):
            weights |= stack(h, draw, same, (9 * most, most), f"one{at}_")
            weights |= stack(h, draw, same, (9 * most, most), f"two{at}_")
        weights |= stack(h, draw, same, (9 * most, 4), "up")
        weights["up0"] = 0.1 * weights["up0"]

        def loss(w: Weights, some: Tensor) -> Tensor:
            off = (_resolved(w, h, low[some], blocks) - high[some]).flatten(2)
            absolute = (h["criterion"] > 0).view(-1, 1)
            return averaged(torch.where(absolute, off.abs().mean(2), (off**2).mean(2)), h)

        def measure(w: Weights) -> Tensor:
            off = _resolved(w, h, low[few:], blocks) - high[few:]
            return noise_ratio((off**2).mean(dim=(1, 2, 3)))

        return Model(weights, loss, measure, few)

    keys = {
        "num_feat": "width", "num_block": "layers", "res_scale": "gain", "ema_decay": "average",
        "batch_size_per_gpu": "batch", "loss_type": "criterion", "scheduler": "schedule",
        "grad_clip": "clip",
    }  # fmt: skip
    wide = as_wide(rng, 8.0)
    fixed = {"batch": 16, "criterion": "l1", "beta2": 0.99, "init_scale": 0.7, "lr_scale": wide}
    about = f"{few} textures from {COARSE} to {FINE}, noise {loud:g}; {blocks} blocks"
    about = f"{about}; rates times {wide:g}"
    axes = _resolution_axes(most, blocks, wide)
    return DeepJob("super-resolution", "negative PSNR", about, axes, keys, fixed, build)


def _drawn(w: Weights, h: Hypers, at: Tensor) -> Tensor:
    """Colours at points [n, 2], [A, n, 3]: the sum of all Gaussians of each arm."""
    away = at.view(1, -1, 1, 2) - EXTENT * w["place"].unsqueeze(1)
    cos, sin = (f(w["turn"]).unsqueeze(1) for f in (torch.cos, torch.sin))
    across = torch.stack(
        [cos * away[..., 0] + sin * away[..., 1], cos * away[..., 1] - sin * away[..., 0]], dim=-1
    )
    reach = w["reach"].exp().unsqueeze(1) + 1e-3
    near = (-0.5 * ((across / reach) ** 2).sum(dim=-1)).exp()
    own = torch.arange(MOST, device=at.device) < h["rank"].view(-1, 1)
    strong = (torch.sigmoid(w["opacity"]) * own).unsqueeze(1)
    return (near * strong) @ w["colour"]


def _unlike(a: Tensor, b: Tensor) -> Tensor:
    """One minus the structural similarity of pictures, [A]; a [A, n, 3], b [n, 3]."""

    def local(x: Tensor) -> Tensor:
        flat = x.transpose(1, 2).reshape(-1, 1, SIDE, SIDE)
        return functional.avg_pool2d(flat, 5, stride=2).view(len(a), -1)

    b = shared(b, len(a))
    one, two = local(a), local(b)
    spread = local(a * a) - one**2, local(b * b) - two**2
    joint = local(a * b) - one * two
    like = (2 * one * two + 1e-4) * (2 * joint + 9e-4)
    like = like / ((one**2 + two**2 + 1e-4) * (spread[0] + spread[1] + 9e-4))
    return 1 - like.mean(dim=1)


def _splatting_weights(h: Hypers, draw: Draw, same: bool) -> Weights:
    """Gaussians at chance places; `init_scale` is how wide, `explore` how opaque they start."""
    arms, rows = len(h["lr"]), 1 if same else len(h["lr"])
    device = draw.device

    def by_chance(*shape: int) -> Tensor:
        drawn = torch.rand(rows, *shape, generator=draw, device=device)
        return drawn.expand(arms, *shape).clone()

    even = h["rank"].clamp(max=MOST) ** -0.5
    wide = (0.7 * even * h["init_scale"]).log().view(-1, 1, 1)
    start = h["explore"].clamp(1e-3, 1 - 1e-3)
    return {
        "place": by_chance(MOST, 2) / EXTENT,
        "reach": wide.expand(-1, MOST, 2).clone(),
        "turn": 3.14 * by_chance(MOST),
        "colour": by_chance(MOST, 3),
        "opacity": (start / (1 - start)).log().view(-1, 1).expand(-1, MOST).clone(),
    }


def _splatting_axes(rng: np.random.Generator) -> tuple[Axis, ...]:
    """Names of the first code of Gaussian splatting, or of gsplat."""
    place, colour, opacity, reach, turn, like = (
        ("position_lr", "feature_lr", "opacity_lr", "scaling_lr", "rotation_lr", "lambda_dssim"),
        ("means_lr", "sh0_lr", "opacities_lr", "scales_lr", "quats_lr", "ssim_lambda"),
    )[int(rng.integers(2))]
    return (
        Axis(place, (6e-5, 6e-4), (1e-7, 0.05), log=True, always=True),
        Axis(colour, (2e-3, 0.03), (1e-5, 3.0), log=True),
        Axis(opacity, (0.01, 0.1), (1e-4, 5.0), log=True),
        Axis(reach, (5e-3, 0.05), (1e-5, 3.0), log=True),
        Axis(turn, (1e-3, 0.05), (1e-6, 3.0), log=True),
        Axis(like, (0.05, 0.4), (0.0, 1.0)),
        Axis("num_points", (60, MOST), (2, MOST), log=True, whole=True, also=("init_num_pts",)),
        Axis("init_scale", (0.5, 1.5), (0.02, 20.0), log=True),
        Axis("init_opa", (0.1, 0.6), (0.005, 0.99), also=("init_opacity",)),
        Axis("opacity_reg", (1e-4, 0.01), (1e-6, 1.0), log=True),
        Axis("scale_reg", (1e-4, 0.01), (1e-6, 3.0), log=True),
        Axis("eps", (1e-15, 1e-8), (1e-15, 0.01), log=True),
    )


def splatting(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """One picture as a cloud of Gaussians; it is measured between the pixels that were fitted."""
    del widen  # one picture is as large as it is
    pixels, between = grid(SIDE), grid(SIDE, 0.0)
    loud = float(rng.choice([0.0, 0.05, 0.15]))
    near, held = np.split(textures(rng, 3, np.concatenate([pixels, between])).T, 2)
    noisy = near + loud * rng.standard_normal(near.shape)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        points, fitted = on_device(pixels, draw), on_device(noisy, draw)
        others, wanted = on_device(between, draw), on_device(held, draw)

        def loss(w: Weights, _: Tensor) -> Tensor:
            made = _drawn(w, h, points)
            off = (made - fitted).abs().mean(dim=(1, 2))
            off = (1 - h["mix"]) * off + h["mix"] * _unlike(made, fitted)
            own = (torch.arange(MOST, device=off.device) < h["rank"].view(-1, 1)) / h["rank"].view(
                -1, 1
            )
            opaque = (torch.sigmoid(w["opacity"]) * own).sum(dim=1)
            wide = (w["reach"].exp().mean(dim=2) * own).sum(dim=1)
            return off + h["penalty"] * opaque + h["other_gain"] * wide

        def measure(w: Weights) -> Tensor:
            return noise_ratio(((_drawn(w, h, others) - wanted) ** 2).mean(dim=(1, 2)))

        rates = {
            "colour": "other_lr",
            "opacity": "third_lr",
            "reach": "fourth_lr",
            "turn": "fifth_lr",
        }
        return Model(_splatting_weights(h, draw, same), loss, measure, 1, rates)

    axes = _splatting_axes(rng)
    canonical = ("lr", "other_lr", "third_lr", "fourth_lr", "fifth_lr", "mix", "rank",
                 "init_scale", "explore", "penalty", "other_gain", "eps")  # fmt: skip
    keys = {axis.name: name for axis, name in zip(axes, canonical, strict=True)}
    fixed = {
        "lr": 2e-4, "other_lr": 0.01, "third_lr": 0.05, "fourth_lr": 0.01, "fifth_lr": 0.01,
        "mix": 0.2, "rank": 100, "explore": 0.3, "penalty": 0.0, "other_gain": 0.0, "eps": 1e-15,
        "batch": 1, "schedule": str(rng.choice(["constant", "cosine"])),
    }  # fmt: skip
    about = f"a picture of {SIDE} times {SIDE}, noise {loud:g}"
    return DeepJob("gaussian-splatting", "negative PSNR", about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "super_resolution": super_resolution,
    "splatting": splatting,
}
