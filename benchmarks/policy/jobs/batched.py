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

SCHEDULES = ("constant", "linear", "cosine", "polynomial", "annealed", "one-cycle")
ACTIVATIONS = ("relu", "tanh", "gelu", "softplus")
CRITERIA = ("l2", "l1")
OBJECTIVES = ("one-class", "soft-boundary")


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
        begin: What happens before a step, such as acting; how many times weights then move.
            Without it, once.
        moving: Which arms move by the loss that was just computed, [A]; without it, all.
    """

    weights: Weights
    loss: Callable[[Weights, Tensor], Tensor]
    measure: Callable[[Weights], Tensor]
    examples: int
    rates: Mapping[str, str] = field(default_factory=dict)
    begin: Callable[[Weights], int] | None = None
    moving: Callable[[], Tensor] | None = None

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
    "power": 1.0,
    "decays": 1.0,
    "nesterov": 0.0,
    "lr_scale": 1.0,
    "steps": 64,
    "passes": 4,
    "parts": 0.0,
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
    "third_lr": 1e-3,
    "fourth_lr": 1e-3,
    "fifth_lr": 1e-3,
    "div": 25.0,
    "div_final": 1e5,
    "criterion": "l2",
    "objective": "one-class",
}
_WORDS = {
    "schedule": SCHEDULES,
    "activation": ACTIVATIONS,
    "criterion": CRITERIA,
    "objective": OBJECTIVES,
}


def hypers(settings: list[Config], device: str) -> Hypers:
    """Settings by canonical name as tensors; `one_minus_beta1` is another way to say `beta1`."""
    found = {}
    for name, default in DEFAULTS.items():
        rows = [_said(one, name, default) for one in settings]
        if name in _WORDS:
            rows = [_WORDS[name].index(row) for row in rows]
        if name == "optimizer":
            rows = [float(row == "sgd") for row in rows]
        found[name] = torch.tensor(np.array(rows, float), dtype=torch.float32, device=device)
    return Hypers(found)


def _said(one: Config, name: str, default: Any) -> Any:  # noqa: ANN401  # a number or a word
    rest = one.get(f"one_minus_{name}")
    return one.get(name, default) if rest is None else 1 - rest


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
    averages = bool((h["average"] > 0).any())
    for step in range(units * steps):
        for _ in range(1 if model.begin is None else model.begin(weights)):
            some = torch.randint(model.examples, (most,), generator=draw, device=draw.device)
            loss = model.loss(weights, some).sum()
            grads = torch.autograd.grad(loss, [weights[n] for n in names])
            with torch.no_grad():
                slopes = dict(zip(names, grads, strict=True))
                _update(model, weights, slopes, first, second, h, step, units * steps)
                for n in names if averages else ():
                    keep = h.wide("average", weights[n].dim())
                    average[n].mul_(keep).add_((1 - keep) * weights[n])
        if (step + 1) % steps == 0:
            columns.append(_measured(model, average if averages else weights))
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
    paced = h["lr_scale"] * _falls(h, (step + 1) / total)
    plain, ahead = h["optimizer"] > 0, h["nesterov"] > 0
    looks_ahead = bool(ahead.any())
    memory = torch.where(plain, h["momentum"], h["beta1"])
    entering = torch.where(plain, torch.ones_like(memory), 1 - h["beta1"])
    memory2, entering2 = h["beta2"], 1 - h["beta2"]
    if model.moving is not None:
        on = model.moving().float()
        paced, entering, entering2 = paced * on, entering * on, entering2 * on
        memory, memory2 = memory * on + (1 - on), memory2 * on + (1 - on)
    mend1, mend2 = 1 - h["beta1"] ** (step + 1), 1 - h["beta2"] ** (step + 1)
    for name, w in weights.items():

        def wide(x: Tensor, w: Tensor = w) -> Tensor:
            return x.view(-1, *([1] * (w.dim() - 1)))

        g = grads[name] * wide(shrink) + wide(h["l2"]) * w
        first[name].mul_(wide(memory)).add_(wide(entering) * g)
        second[name].mul_(wide(memory2)).add_(wide(entering2) * g * g)
        adam = (first[name] / wide(mend1)) / (
            torch.sqrt(second[name] / wide(mend2)) + wide(h["eps"])
        )
        push = first[name]
        if looks_ahead:
            push = torch.where(wide(ahead), g + wide(memory) * push, push)
        move = torch.where(wide(plain), push, adam)
        rate = h[model.rate_of(name)] * paced
        w.sub_(wide(rate) * (move + wide(h["weight_decay"]) * w))


def _falls(h: Hypers, part: float) -> Tensor:
    """What of its learning rate each arm uses after this part of the training, [A].

    `polynomial` falls to `final` of it by a `power` over the part `decays`; `annealed` falls to
    `final` along half a cosine once it has warmed up; `one-cycle` rises from its `div`-th part
    along half a cosine while it warms up, and falls along another to the `div_final`-th of that.
    """
    warm = torch.clamp(h["warmup"], min=1e-6)
    gone = torch.clamp(part / h["decays"].clamp(min=1e-6), max=1.0)
    since = torch.clamp((part - warm) / (1 - warm).clamp(min=1e-6), min=0.0, max=1.0)
    ways = (
        torch.ones_like(h["lr"]),
        1 - part * (1 - h["final"]),
        torch.full_like(h["lr"], 0.5 * (1 + np.cos(np.pi * part))),
        h["final"] + (1 - h["final"]) * (1 - gone) ** h["power"],
        h["final"] + (1 - h["final"]) * 0.5 * (1 + torch.cos(np.pi * since)),
        _cycle(h, torch.clamp(part / warm, max=1.0), since),
    )
    falls = torch.stack(ways).gather(0, h["schedule"].long().unsqueeze(0))[0]
    cycles = h["schedule"] == SCHEDULES.index("one-cycle")
    return falls * torch.where(cycles, 1.0, torch.clamp((part + 1e-9) / warm, max=1.0))


def _cycle(h: Hypers, risen: Tensor, since: Tensor) -> Tensor:
    """One cycle of a learning rate by how far it has risen and, after that, fallen, [A]."""
    low = 1 / h["div"]
    up = low + (1 - low) * 0.5 * (1 - torch.cos(np.pi * risen))
    last = low / h["div_final"]
    down = last + (1 - last) * 0.5 * (1 + torch.cos(np.pi * since))
    return torch.where(risen < 1, up, down)
