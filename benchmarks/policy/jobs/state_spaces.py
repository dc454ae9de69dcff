"""Long sequences by diagonal state-space layers (S4D), with the names of their repositories.

A layer is a convolution whose kernel is a sum of decaying waves: its decays, paces and step sizes
are learnt at a rate of their own.

Notation:
    A  arms, m  examples of a step, L  places of a sequence, D  units, N  states of a unit.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked
from .deep_job import DeepJob, adam_rate, averaged, on_device, pictures, stack, surprises
from .encoders import a_measure, measured
from .ranges import Axis

HELD, STATES = 240, 16


def _sequences(rng: np.random.Generator, few: int) -> tuple[np.ndarray, np.ndarray, int, str]:
    """Series [n, L, 2], the class of each, how many classes, and in words.

    Digits pixel by pixel; waves of some paces in noise; or which of two bumps came first, and how
    long before the other.
    """
    which = int(rng.integers(3))
    if which == 0:
        x, y = pictures(rng)
        x = np.stack([2 * x - 1, np.zeros_like(x)], axis=2)[: few + HELD]
        return x, y[: few + HELD], 10, "digits pixel by pixel"
    length, count = int(rng.choice([32, 64])), few + HELD
    t, loud = np.arange(length), float(rng.choice([0.3, 1.0]))
    noise = loud * rng.standard_normal((count, length, 2))
    if which == 1:
        classes = int(rng.integers(3, 9))
        y = rng.integers(classes, size=count)
        angle = (0.3 + 0.12 * y)[:, None] * t + rng.uniform(0, 6, (count, 1))
        waves = np.stack([np.sin(angle), np.sin(angle) ** 2], axis=2)
        return waves + noise, y, classes, f"{classes} paces in {length}"
    at = rng.uniform(0, length, (count, 2, 1))
    x = 3 * np.exp(-0.5 * ((t - at) / 1.5) ** 2).transpose(0, 2, 1)
    gap = (at[:, 0, 0] - at[:, 1, 0]) / length
    classes = int(rng.choice([2, 4]))
    y = np.digitize(gap, [0.0] if classes == 2 else [-0.3, 0.0, 0.3])
    return x + 0.3 * noise, y, classes, f"order of two bumps in {length}"


def _layers(h: Hypers, draw: Draw, same: bool, width: int, layers: int) -> Weights:
    """Decays, paces, step sizes and readings of every layer, and what mixes units."""
    arms, weights = len(h["lr"]), stack(h, draw, same, (2, width), "into")
    low, high = (h[name].log().view(-1, 1) for name in ("explore_less", "explore"))
    for layer in range(layers):
        rows = 1 if same else arms
        part = torch.rand(rows, width, generator=draw, device=draw.device)
        weights[f"ssm{layer}_step"] = low + part * (high - low)
        waves = torch.arange(STATES, device=draw.device) * torch.pi
        weights[f"ssm{layer}_pace"] = waves.expand(arms, width, STATES).clone()
        half = torch.full((arms, width, STATES), 0.5, device=draw.device)
        weights[f"ssm{layer}_decay"] = half.log()
        read = torch.randn(rows, 2, width, STATES, generator=draw, device=draw.device)
        weights[f"read{layer}"] = read.expand(arms, -1, -1, -1) * h.wide("init_scale", 4)
        weights[f"skip{layer}"] = torch.ones(arms, width, device=draw.device)
        weights |= stack(h, draw, same, (width, 2 * width), f"mixed{layer}_")
    return weights


def _kernel(w: Weights, h: Hypers, layer: int, length: int) -> Tensor:
    """What each unit remembers of so many places before, [A, D, L]."""
    step = w[f"ssm{layer}_step"].exp().unsqueeze(2)
    inside = torch.complex(-w[f"ssm{layer}_decay"].exp(), w[f"ssm{layer}_pace"])
    often = (inside * step).unsqueeze(3) * torch.arange(length, device=step.device)
    own = torch.arange(STATES, device=step.device) < h["rank"].view(-1, 1, 1)
    read = torch.complex(w[f"read{layer}"][:, 0], w[f"read{layer}"][:, 1]) * own
    read = read * ((inside * step).exp() - 1) / inside
    return 2 * (read.unsqueeze(3) * often.exp()).sum(dim=2).real


def _through(w: Weights, h: Hypers, x: Tensor, layers: int, draw: Draw | None) -> Tensor:
    """Means over all places of what the layers make of series [m, L, 2], [A, m, D]."""
    arms, (m, length, _) = len(h["lr"]), x.shape
    z = dense(w, "into0", x.reshape(1, m * length, 2).expand(arms, -1, -1))
    z = masked(z.view(arms, m, length, -1), h["width"])
    for layer in range(layers):
        on = (h["layers"] > layer).view(-1, 1, 1, 1)
        before = functional.layer_norm(z, z.shape[3:])
        spectrum = torch.fft.rfft(_kernel(w, h, layer, length), 2 * length, dim=2)
        waves = torch.fft.rfft(before, 2 * length, dim=2) * spectrum.transpose(1, 2).unsqueeze(1)
        after = torch.fft.irfft(waves, 2 * length, dim=2)[:, :, :length]
        after = functional.gelu(after + w[f"skip{layer}"].view(arms, 1, 1, -1) * before)
        after = dropped(masked(after, h["width"]), h["drop"], draw)
        both = dense(w, f"mixed{layer}_0", after.reshape(arms, m * length, -1))
        z = z + on * masked(functional.glu(both, dim=2).view_as(z), h["width"])
    return functional.layer_norm(z, z.shape[3:]).mean(dim=2)


def _axes(width: int, layers: int) -> tuple[Axis, ...]:
    return (
        adam_rate("lr", 1e-3, 1e-2, "learning_rate"),
        Axis("ssm_lr", (5e-4, 5e-3), (1e-6, 0.3), log=True, also=("lr_ssm", "ssm_lr_base")),
        Axis("d_state", (4, STATES), (1, STATES), log=True, whole=True, also=("ssm_size", "N")),
        Axis("d_model", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("hidden_size", "H")),
        Axis("dt_min", (1e-3, 1e-2), (1e-5, 0.09), log=True, also=("dt_init_min",)),
        Axis("dt_max", (0.1, 0.5), (0.1, 5.0), log=True, also=("dt_init_max",)),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8), also=("p_dropout",)),
        Axis("weight_decay", (1e-3, 0.1), (1e-6, 3.0), log=True),
        Axis("n_layers", (1, layers), (1, max(layers, 2)), whole=True, also=("n_layer",)),
        Axis("bsz", (16, 64), (2, 64), log=True, whole=True, also=("batch_size", "bs")),
        Axis("warmup", (0.01, 0.15), (0.001, 0.7), log=True, also=("warmup_fraction",)),
        Axis("scheduler", values=("constant", "linear", "cosine"), also=("lr_schedule",)),
    )  # fmt: skip


def state_space(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Which class a long series is of."""
    few, layers, width = int(rng.choice([250, 800, 1500])), int(rng.integers(1, 4)), 6 * widen
    x, y, classes, what = _sequences(rng, few)
    how = a_measure(rng)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        seen, labels = on_device(x, draw), on_device(y, draw)
        weights = _layers(h, draw, same, width, layers)
        weights |= stack(h, draw, same, (width, classes), "out")

        def answer(w: Weights, some: Tensor, using: Draw | None) -> Tensor:
            return dense(w, "out0", _through(w, h, some, layers, using))

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(surprises(answer(w, seen[some], draw), labels[some]), h)

        def measure(w: Weights) -> Tensor:
            return measured(answer(w, seen[few:], None), labels[few:], how)

        return Model(weights, loss, measure, few, {"ssm": "other_lr"})

    keys = {
        "ssm_lr": "other_lr", "d_state": "rank", "d_model": "width", "dt_min": "explore_less",
        "dt_max": "explore", "dropout": "drop", "n_layers": "layers", "bsz": "batch",
        "scheduler": "schedule",
    }  # fmt: skip
    fixed = {"batch": 32, "other_lr": 1e-3, "explore_less": 1e-3, "explore": 0.1}
    about = f"{what}, {few} series; {layers} layers"
    axes = _axes(width, layers)
    return DeepJob("state-space", how, about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"state_space": state_space}
