"""Classifiers from few labels and many pictures without any (FixMatch), with the names of its code.

What a network is sure of for a picture that is hardly changed, it shall say of one that is much
changed.

Notation:
    A  arms, m  pictures of a step, S  side of a picture, D  channels.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked
from .deep_job import DeepJob, averaged, on_device, shared, stack, surprises
from .encoders import a_measure, convolved, measured
from .images import HELD, Photos, photos
from .ranges import Axis

MOST = 64  # pictures without labels of a step


def _much_changed(x: Tensor, draw: Draw) -> Tensor:
    """Pictures [m, S, S, C] with noise, a covered corner and another brightness."""
    shape = (len(x), 1, 1, 1)
    bright = 0.6 + 0.8 * torch.rand(shape, generator=draw, device=x.device)
    noise = 0.4 * torch.randn(x.shape, generator=draw, device=x.device)
    corner = torch.randint(x.shape[1] - 2, (2, len(x)), generator=draw, device=x.device)
    at = torch.arange(x.shape[1], device=x.device)
    down, right = ((at - one.view(-1, 1) - 1).abs() < 2 for one in corner)
    covered = (down.unsqueeze(2) & right.unsqueeze(1)).unsqueeze(3)
    return bright * x * ~covered + noise


def _network(
    h: Hypers, draw: Draw, same: bool, data: Photos, most: int
) -> tuple[Weights, Callable[[Weights, Tensor, Draw | None], Tensor]]:
    """Two convolutions and an answer: weights, and logits [A, m, V] of pictures [m, S, S, C]."""
    weights = stack(h, draw, same, (9 * data.x.shape[3], most), "one")
    weights |= stack(h, draw, same, (9 * most, most), "two")
    weights |= stack(h, draw, same, (16 * most, data.classes), "out")

    def answer(w: Weights, x: Tensor, using: Draw | None) -> Tensor:
        z = masked(torch.relu(convolved(w, "one0", shared(x, len(h["lr"])), 2)), h["width"])
        z = masked(torch.relu(convolved(w, "two0", z)), h["width"])
        return dense(w, "out0", dropped(z.flatten(2), h["drop"], using))

    return weights, answer


def _axes(most: int) -> tuple[Axis, ...]:
    return (
        Axis("lr", (0.01, 0.1), (1e-4, 10.0), log=True, always=True, also=("learning_rate",)),
        Axis("lambda_u", (0.5, 3.0), (0.01, 100.0), log=True, always=True,
             also=("ulb_loss_ratio", "unlabeled_loss_weight")),
        Axis("threshold", (0.7, 0.97), (0.05, 0.999), also=("p_cutoff", "confidence_threshold")),
        Axis("T", (0.3, 1.0), (0.02, 10.0), log=True, also=("temperature",)),
        Axis("mu", (2, 7), (1, 16), whole=True, also=("uratio", "unlabeled_ratio")),
        Axis("momentum", (0.8, 0.95), (0.0, 0.999)),
        Axis("wdecay", (1e-4, 2e-3), (1e-6, 1.0), log=True, also=("weight_decay", "wd")),
        Axis("ema_decay", (0.9, 0.99), (0.0, 0.9999), also=("ema_m",)),
        Axis("batch_size", (8, 32), (1, 32), log=True, whole=True, also=("batch",)),
        Axis("width", (max(most // 3, 4), most), (1, most), log=True, whole=True,
             also=("widen_factor",)),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8)),
        Axis("nesterov", values=(True, False)),
    )  # fmt: skip


def semi_supervised(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A convolutional network that teaches itself what its few labels do not tell."""
    data, how, most = photos(rng), a_measure(rng), 6 * widen
    told = min(int(rng.choice([2, 5, 15])) * data.classes, data.few)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        seen, labels = on_device(data.x, draw), on_device(data.y, draw)
        weights, answer = _network(h, draw, same, data, most)
        many = (h["parts"].round() * h["batch"]).clamp(max=MOST).view(-1, 1)
        inside = (torch.arange(MOST, device=draw.device) < many) / many

        def loss(w: Weights, some: Tensor) -> Tensor:
            known = some % told
            faint = 0.05 * torch.randn(seen[known].shape, generator=draw, device=draw.device)
            right = surprises(answer(w, seen[known] + faint, draw), labels[known])
            which = torch.randint(data.few, (MOST,), generator=draw, device=draw.device)
            with torch.no_grad():
                sure = (answer(w, seen[which], None) / h.wide("temperature", 3)).softmax(dim=2)
                chance, guess = sure.max(dim=2)
            logs = answer(w, _much_changed(seen[which], draw), draw).log_softmax(dim=2)
            off = -logs.gather(2, guess.unsqueeze(2))[:, :, 0]
            agreed = (off * (chance >= h["margin"].view(-1, 1)) * inside).sum(dim=1)
            return averaged(right, h) + h["gain"] * agreed

        def measure(w: Weights) -> Tensor:
            return measured(answer(w, seen[data.few :], None), labels[data.few :], how)

        return Model(weights, loss, measure, 10**6)

    keys = {
        "lambda_u": "gain", "threshold": "margin", "T": "temperature", "mu": "parts",
        "wdecay": "l2", "ema_decay": "average", "batch_size": "batch", "dropout": "drop",
    }  # fmt: skip
    fixed = {
        "optimizer": "sgd", "nesterov": 1.0, "schedule": "cosine", "gain": 1.0, "margin": 0.95,
        "temperature": 1.0, "parts": 4, "batch": 16, "l2": 5e-4,
    }  # fmt: skip
    about = f"{data.about}, {told} with labels, {HELD} measured"
    return DeepJob("semi-supervised", how, about, _axes(most), keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "semi_supervised": semi_supervised
}
