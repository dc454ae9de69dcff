"""Trains many small PyTorch models at once: every weight has one row an arm.

Notation:
    A  arms, m  examples of a step, L  places of a sequence, D  units (masked where narrower).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .ranges import Config

Weights = dict[str, Tensor]
Draw = torch.Generator

SCHEDULES = ("constant", "linear", "cosine")
ACTIVATIONS = ("relu", "tanh", "gelu")


@dataclass(frozen=True, eq=False)
class Hypers:
    """Hyper-parameters of all arms by canonical name, [A] each."""

    values: dict[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        return self.values[name]

    def wide(self, name: str, dimensions: int) -> Tensor:
        """The same, to be multiplied with an array of so many dimensions."""
        return self.values[name].view(-1, *([1] * (dimensions - 1)))


@dataclass(frozen=True, eq=False)
class Model:
    """A job on the device.

    Attributes:
        weights: Before training, one row an arm.
        loss: What is minimised, from weights and the numbers of some examples, [A].
        measure: What the table holds, [A].
        examples: How many there are to train on.
        rates: Which canonical hyper-parameter is the learning rate of weights whose names begin
            with these words; `lr` is that of all others.
    """

    weights: Weights
    loss: Callable[[Weights, Tensor], Tensor]
    measure: Callable[[Weights], Tensor]
    examples: int
    rates: Mapping[str, str] = field(default_factory=dict)

    def rate_of(self, weight: str) -> str:
        """The canonical name of a weight's learning rate."""
        return next((r for start, r in self.rates.items() if weight.startswith(start)), "lr")


DEFAULTS: Config = {
    "lr": 1e-3,
    "beta1": 0.9,
    "beta2": 0.999,
    "eps": 1e-8,
    "weight_decay": 0.0,
    "momentum": 0.9,
    "clip": 1e9,
    "drop": 0.0,
    "warmup": 0.0,
    "schedule": "constant",
    "optimizer": "adamw",
    "width": 1e9,
    "smoothing": 0.0,
    "temperature": 0.2,
    "mix": 0.5,
    "average": 0.0,
    "l2": 0.0,
    "init_scale": 1.0,
    "batch": 32,
    "final": 0.05,
    "other_lr": 1e-3,
    "margin": 1.0,
    "frequency": 1.0,
    "gain": 1.0,
    "other_gain": 1.0,
    "third_gain": 1.0,
    "rank": 1e9,
    "noise": 0.0,
    "penalty": 0.0,
    "skip": 0.0,
    "layers": 1e9,
    "seen": 1e9,
    "activation": "relu",
    "discount": 0.99,
    "trace": 0.95,
    "pace": 0.005,
    "explore": 1.0,
    "explore_less": 0.05,
    "explore_part": 0.2,
    "starts": 0.0,
    "memory": 1e9,
    "total": 1.0,
}
_WORDS = {"schedule": SCHEDULES, "activation": ACTIVATIONS}


def hypers(settings: list[Config], device: str) -> Hypers:
    """Settings by canonical name as tensors."""
    found = {}
    for name, default in DEFAULTS.items():
        rows = [one.get(name, default) for one in settings]
        if name in _WORDS:
            rows = [_WORDS[name].index(row) for row in rows]
        if name == "optimizer":
            rows = [float(row == "sgd") for row in rows]
        found[name] = torch.tensor(np.array(rows, float), dtype=torch.float32, device=device)
    return Hypers(found)


def matrix(draw: Draw, arms: int, rows: int, columns: int, scale: Tensor, same: bool) -> Tensor:
    """Normal weights as wide as the layer before asks for, [A, rows, columns]."""
    normal = torch.randn(1 if same else arms, rows, columns, generator=draw, device=draw.device)
    return (normal * scale.view(-1, 1, 1) / rows**0.5).expand(arms, rows, columns).clone()


def dense(weights: Weights, name: str, x: Tensor) -> Tensor:
    """A layer of every arm: [A, n, rows] to [A, n, columns]."""
    return torch.baddbmm(weights[f"{name}_bias"].unsqueeze(1), x, weights[name])


def masked(x: Tensor, width: Tensor) -> Tensor:
    """Units beyond an arm's width are 0; [A, ..., D]."""
    keep = torch.arange(x.shape[-1], device=x.device) < width.view(-1, *([1] * (x.dim() - 1)))
    return x * keep


def dropped(x: Tensor, rate: Tensor, draw: Draw | None) -> Tensor:
    """Dropout at each arm's own rate; none while measuring."""
    if draw is None:
        return x
    part = rate.view(-1, *([1] * (x.dim() - 1)))
    keep = torch.rand(x.shape[1:], generator=draw, device=x.device).unsqueeze(0) >= part
    return x * keep / (1 - part)


def train(
    model: Model, h: Hypers, units: int, steps: int, seed: int
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Losses of all arms, the untrained ones first, [A, T + 1]; NaN once an arm has diverged."""
    weights = {name: w.requires_grad_() for name, w in model.weights.items()}
    names = list(weights)
    first = {n: torch.zeros_like(weights[n]) for n in names}
    second = {n: torch.zeros_like(weights[n]) for n in names}
    average = {n: weights[n].detach().clone() for n in names}
    draw = torch.Generator(device=weights[names[0]].device).manual_seed(seed)
    columns = [_measured(model, weights)]
    most = int(h["batch"].max())
    for step in range(units * steps):
        some = torch.randint(model.examples, (most,), generator=draw, device=draw.device)
        grads = torch.autograd.grad(model.loss(weights, some).sum(), [weights[n] for n in names])
        with torch.no_grad():
            slopes = dict(zip(names, grads, strict=True))
            _update(model, weights, slopes, first, second, h, step, units * steps)
            if bool((h["average"] > 0).any()):
                for n in names:
                    keep = h.wide("average", weights[n].dim())
                    average[n].mul_(keep).add_((1 - keep) * weights[n])
        if (step + 1) % steps == 0:
            shown = average if bool((h["average"] > 0).any()) else weights
            columns.append(_measured(model, shown))
    table = torch.stack(columns, dim=1).float().cpu().numpy()
    lost = np.logical_or.accumulate(~np.isfinite(table), axis=1)
    return np.where(lost, np.nan, table).astype(np.float32)


def _measured(model: Model, weights: Weights) -> Tensor:
    with torch.no_grad():
        return model.measure(weights)


def _update(
    model: Model,
    weights: Weights,
    grads: Weights,
    first: Weights,
    second: Weights,
    h: Hypers,
    step: int,
    total: int,
) -> None:
    """One step of AdamW or of momentum, by arm, in place."""
    norm = torch.sqrt(sum((g.flatten(1) ** 2).sum(dim=1) for g in grads.values()))
    shrink = torch.clamp(h["clip"] / (norm + 1e-9), max=1.0)
    part = (step + 1) / total
    falls = torch.where(h["schedule"] == 1, 1 - part * (1 - h["final"]), torch.ones_like(h["lr"]))
    falls = torch.where(
        h["schedule"] == 2, torch.full_like(falls, 0.5 * (1 + np.cos(np.pi * part))), falls
    )
    rises = torch.clamp((part + 1e-9) / torch.clamp(h["warmup"], min=1e-6), max=1.0)
    plain = h["optimizer"] > 0
    for name, w in weights.items():

        def wide(x: Tensor, w: Tensor = w) -> Tensor:
            return x.view(-1, *([1] * (w.dim() - 1)))

        g = grads[name] * wide(shrink) + wide(h["l2"]) * w
        memory = torch.where(plain, h["momentum"], h["beta1"])
        entering = torch.where(plain, torch.ones_like(memory), 1 - h["beta1"])
        first[name].mul_(wide(memory)).add_(wide(entering) * g)
        second[name].mul_(wide(h["beta2"])).add_(wide(1 - h["beta2"]) * g * g)
        mend1, mend2 = 1 - h["beta1"] ** (step + 1), 1 - h["beta2"] ** (step + 1)
        adam = (first[name] / wide(mend1)) / (
            torch.sqrt(second[name] / wide(mend2)) + wide(h["eps"])
        )
        move = torch.where(wide(plain), first[name], adam)
        rate = h[model.rate_of(name)] * falls * rises
        w.sub_(wide(rate) * (move + wide(h["weight_decay"]) * w))
