"""Transformer encoders and convolutions of many arms side by side, and how answers are measured.

Notation:
    A  arms, m  examples of a step, L  places of a sequence, S  side of a picture, D  units.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Weights, dense, dropped, masked
from .deep_job import entropy, stack

MEASURES = ("validation cross-entropy", "validation error rate", "negative accuracy")


def encoder(h: Hypers, draw: Draw, same: bool, width: int, layers: int) -> Weights:
    """Weights of an encoder: attention and two dense layers, so many times."""
    weights: Weights = {}
    for layer in range(layers):
        weights |= stack(h, draw, same, (width, 3 * width), f"ask{layer}_")
        weights |= stack(h, draw, same, (width, width), f"take{layer}_")
        weights |= stack(h, draw, same, (width, 2 * width), f"wide{layer}_")
        weights |= stack(h, draw, same, (2 * width, width), f"back{layer}_")
    return weights


def later(length: int, device: torch.device) -> Tensor:
    """What each place (row) may not look at so that it knows none after it, [L, L]."""
    at = torch.arange(length, device=device)
    return at > at.view(-1, 1)


def attended(
    w: Weights, h: Hypers, x: Tensor, layer: int, draw: Draw | None, hidden: Tensor | None
) -> Tensor:
    """What two heads of a layer take from all places, [A, m L, D]; x [A, m, L, D] is normalised."""
    arms, m, length, width = x.shape
    flat = functional.layer_norm(x, (width,)).view(arms, m * length, width)
    q, k, v = (
        dense(w, f"ask{layer}_0", flat)
        .view(arms, m, length, 3, 2, width // 2)
        .permute(3, 0, 1, 4, 2, 5)
    )
    near = q @ k.transpose(-1, -2) / (width // 2) ** 0.5
    near = (near if hidden is None else near.masked_fill(hidden, -1e9)).softmax(dim=-1)
    taken = (dropped(near, h["noise"], draw) @ v).permute(0, 1, 3, 2, 4)
    return dense(w, f"take{layer}_0", taken.reshape(arms, m * length, width))


def encoded(
    w: Weights,
    h: Hypers,
    x: Tensor,
    layers: int,
    draw: Draw | None,
    hidden: Tensor | None = None,
) -> Tensor:
    """Through an encoder with two heads, [A, m, L, D] to the same shape, normalised.

    `hidden` says what a place (row) may not look at, [L, L]. `drop` is dropout of what is added,
    `noise` that of attention, `skip` the chance that an example goes round a layer; layers beyond
    an arm's `layers` add nothing.
    """
    arms, m, length, width = x.shape
    x = masked(x, h["width"])
    for layer in range(layers):
        on = (h["layers"] > layer).view(-1, 1, 1, 1) * _kept(h, m, x, draw)
        taken = attended(w, h, x, layer, draw, hidden)
        x = x + on * masked(dropped(taken, h["drop"], draw).view_as(x), h["width"])
        flat = functional.layer_norm(x, (width,)).view(arms, m * length, width)
        inner = dense(w, f"back{layer}_0", functional.gelu(dense(w, f"wide{layer}_0", flat)))
        x = x + on * masked(dropped(inner, h["drop"], draw).view_as(x), h["width"])
    return functional.layer_norm(x, (width,))


def _kept(h: Hypers, m: int, x: Tensor, draw: Draw | None) -> Tensor:
    """Which examples go through a layer, scaled so that its mean stays, [A, m, 1, 1]."""
    if draw is None:
        return torch.ones(1, 1, 1, 1, device=x.device)
    part = h.wide("skip", 4)
    chance = torch.rand(1, m, 1, 1, generator=draw, device=x.device)
    return (chance >= part) / (1 - part).clamp(min=0.05)


def convolved(w: Weights, name: str, x: Tensor, stride: int = 1) -> Tensor:
    """Three by three, [A, m, S, S, D] to [A, m, S / stride, S / stride, columns]."""
    side = x.shape[2]
    padded = functional.pad(x, (0, 0, 1, 1, 1, 1))
    near = [
        padded[:, :, i : i + side : stride, j : j + side : stride]
        for i in range(3)
        for j in range(3)
    ]
    patches = torch.cat(near, dim=-1)
    arms, m, side, _, size = patches.shape
    out = dense(w, name, patches.view(arms, m * side * side, size))
    return out.view(arms, m, side, side, -1)


def standardised(x: Tensor) -> Tensor:
    """Each channel by the mean and the spread of the batch, [A, m, S, S, D]."""
    mean = x.mean(dim=(1, 2, 3), keepdim=True)
    spread = x.var(dim=(1, 2, 3), keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(spread + 1e-5)


def measured(logits: Tensor, labels: Tensor, metric: str) -> Tensor:
    """One of `MEASURES` of each arm, NaN where it has diverged, [A]; logits [A, n, V]."""
    if metric == MEASURES[0]:
        return entropy(logits, labels)
    right = (logits.argmax(dim=2) == labels).float().mean(dim=1)
    lost = torch.where(logits.isfinite().all(dim=2).all(dim=1), 0.0, torch.nan)
    return lost + (1 - right if metric == MEASURES[1] else -right)


def a_measure(rng: np.random.Generator) -> str:
    """What a table of classifiers holds."""
    return str(rng.choice(MEASURES))
