"""Answers about places in pictures: which pixels, and where and what a thing is.

Notation:
    A  arms, m  pictures of a step, S  side of a picture, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights
from .deep_job import DeepJob, adam_rate, averaged, forward, on_device, shared, stack, surprises
from .ranges import Axis

SIDE = 10


def _things(rng: np.random.Generator, count: int, noise: float) -> tuple[np.ndarray, ...]:
    """Noisy pictures of one thing each, its pixels, its box (centre, size) and its class."""
    size = rng.uniform(0.2, 0.5, (count, 2))
    centre = rng.uniform(size / 2, 1 - size / 2)
    what = rng.integers(3, size=count)
    at = (np.arange(SIDE) + 0.5) / SIDE
    down = np.abs(at[:, None] - centre[:, 0, None, None]) / size[:, 0, None, None] * 2
    along = np.abs(at - centre[:, 1, None, None]) / size[:, 1, None, None] * 2
    shapes = [np.maximum(down, along) <= 1, down**2 + along**2 <= 1, down + along <= 1]
    pixels = np.choose(what[:, None, None], shapes)
    shade = rng.uniform(0.5, 1.0, (count, 1, 1))
    x = shade * pixels + noise * rng.standard_normal((count, SIDE, SIDE))
    x = x + rng.uniform(0, 0.3) * np.sin(7 * at + 5 * at[:, None])
    return x, pixels, np.concatenate([centre, size], axis=1), what


def segmentation(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Which pixels belong to the thing, from patches; the overlap goes up."""
    few, noise = int(rng.choice([30, 100, 300])), float(rng.choice([0.3, 0.6]))
    x, pixels, _, _ = _things(rng, few + 60, noise)
    hidden = 16 * widen
    plain = bool(rng.random() < 0.4)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        patches = functional.unfold(on_device(x, draw).unsqueeze(1), 5, padding=2).transpose(1, 2)
        wanted = on_device(pixels.astype(float), draw).flatten(1)
        weights = stack(h, draw, same, (25, hidden, hidden, 1))

        def answer(w: Weights, some: Tensor, using: Draw | None) -> Tensor:
            flat = shared(patches[some].flatten(0, 1), arms)
            out = forward(w, h, flat, using, activation=torch.relu)
            return out.view(arms, len(some), SIDE * SIDE)

        def loss(w: Weights, some: Tensor) -> Tensor:
            out, right = answer(w, some, draw), wanted[some]
            each = right * functional.softplus(-out) * h.wide("gain", 3)
            cross = (each + (1 - right) * functional.softplus(out)).mean(dim=2)
            said = out.sigmoid()
            both = (said * right).sum(dim=2)
            dice = 1 - (2 * both + 1) / (said.sum(dim=2) + right.sum(dim=1) + 1)
            part = h["mix"].view(-1, 1)
            return averaged((1 - part) * cross + part * dice, h)

        def measure(w: Weights) -> Tensor:
            some = torch.arange(few, few + 60, device=draw.device)
            out = answer(w, some, None)
            said, right = out > 0, wanted[some] > 0.5
            overlap = (said & right).sum(dim=2) / ((said | right).sum(dim=2) + 1e-6)
            lost = torch.where(out.isfinite().all(dim=(1, 2)), 0.0, torch.nan)
            return lost - overlap.float().mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        Axis("learning_rate", (5e-3, 0.1), (5e-5, 5.0), log=True, always=True, also=("lr",))
        if plain
        else adam_rate("learning_rate", 5e-4, 1e-2, "lr"),
        Axis("dice_weight", (0.3, 0.7), (0.0, 1.0), also=("lambda_dice", "dice_loss_weight")),
        Axis("pos_weight", (0.8, 4.0), (0.05, 50.0), log=True, also=("foreground_weight",)),
        Axis(
            "init_features", (8, hidden), (1, hidden), log=True, whole=True, also=("base_filters",)
        ),
        Axis("weight_decay", (1e-5, 1e-3), (1e-7, 1.0), log=True),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8)),
        Axis("batch_size", (4, 16), (1, 16), log=True, whole=True),
    )
    keys = {
        "learning_rate": "lr", "dice_weight": "mix", "pos_weight": "gain", "dropout": "drop",
        "init_features": "width", "batch_size": "batch",
    }  # fmt: skip
    about = f"{few} pictures, noise {noise:g}, {'momentum' if plain else 'Adam'}"
    fixed = {"batch": 8, "optimizer": "sgd" if plain else "adam"}
    return DeepJob("segmentation", "negative overlap", about, axes, keys, fixed, build)


def detection(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Where a thing is and what it is, with a weight for each loss; the fitness goes up."""
    few, noise = int(rng.choice([100, 400])), float(rng.choice([0.1, 0.3]))
    x, _, box, what = _things(rng, few + 100, noise)
    hidden = 48 * widen

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = on_device(x.reshape(len(x), -1), draw)
        boxes, classes = on_device(box, draw), on_device(what, draw)
        weights = stack(h, draw, same, (SIDE * SIDE, hidden, hidden, 7))

        def answer(w: Weights, some: Tensor, using: Draw | None) -> tuple[Tensor, Tensor]:
            points = shared(seen[some], arms)
            if using is not None:  # brightness jitter, as augmentation
                shift = torch.randn(len(some), 1, generator=using, device=points.device)
                points = points + h.wide("noise", 3) * shift
            out = forward(w, h, points, using)
            return out[:, :, :4].sigmoid(), out[:, :, 4:]

        def loss(w: Weights, some: Tensor) -> Tensor:
            where, kind = answer(w, some, draw)
            apart = 1 - _overlap(where, boxes[some])
            exact = (where - boxes[some]).abs().sum(dim=2)
            of_kind = surprises(kind, classes[some])
            gains = [h[name].view(-1, 1) for name in ("gain", "other_gain", "third_gain")]
            return averaged(gains[0] * apart + gains[1] * of_kind + gains[2] * exact, h)

        def measure(w: Weights) -> Tensor:
            some = torch.arange(few, few + 100, device=draw.device)
            where, kind = answer(w, some, None)
            right = (kind.argmax(dim=2) == classes[some]).float()
            lost = torch.where(kind.isfinite().all(dim=(1, 2)), 0.0, torch.nan)
            return lost - (right * _overlap(where, boxes[some])).mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        Axis("lr0", (3e-3, 3e-2), (1e-5, 1.0), log=True, always=True, also=("initial_lr",)),
        Axis("lrf", (0.01, 0.2), (0.001, 1.0), log=True, also=("final_lr_ratio",)),
        Axis("momentum", (0.8, 0.95), (0.1, 0.99)),
        Axis("weight_decay", (1e-4, 1e-3), (1e-7, 0.3), log=True),
        Axis("box", (2.0, 10.0), (0.02, 50.0), log=True, also=("box_loss_gain", "giou")),
        Axis("cls", (0.3, 2.0), (0.01, 20.0), log=True, also=("cls_loss_gain",)),
        Axis("dfl", (0.5, 3.0), (0.01, 20.0), log=True, also=("l1_loss_gain",)),
        Axis("warmup_epochs", (0.02, 0.1), (0.001, 0.6), log=True),
        Axis("hsv_v", (0.05, 0.4), (0.0, 3.0), also=("brightness",)),
        Axis("batch", (8, 32), (2, 64), log=True, whole=True),
    )
    keys = {
        "lr0": "lr", "lrf": "final", "box": "gain", "cls": "other_gain", "dfl": "third_gain",
        "warmup_epochs": "warmup", "hsv_v": "noise",
    }  # fmt: skip
    fixed = {
        "optimizer": "sgd", "schedule": "linear", "final": 0.1, "batch": 16, "gain": 5.0,
        "other_gain": 1.0, "third_gain": 1.5, "clip": 10.0,
    }  # fmt: skip
    about = f"{few} pictures, noise {noise:g}"
    return DeepJob("detection", "negative fitness", about, axes, keys, fixed, build)


def _overlap(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of boxes (centre, size), [A, m]."""
    low = torch.maximum(a[..., :2] - a[..., 2:] / 2, b[..., :2] - b[..., 2:] / 2)
    high = torch.minimum(a[..., :2] + a[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2)
    both = (high - low).clamp(min=0).prod(dim=-1)
    return both / (a[..., 2:].prod(dim=-1) + b[..., 2:].prod(dim=-1) - both + 1e-6)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "segmentation": segmentation,
    "detection": detection,
}
