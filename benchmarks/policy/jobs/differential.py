"""Differential equations by networks (neural ODEs), with the names of Optax and Diffrax.

A network says how fast each state changes; what it says is followed by the midpoint rule from where
a trajectory starts, and compared with the trajectory.

Notation:
    A  arms, m  trajectories of a step, T  times of a trajectory, S  numbers of a state.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights
from .deep_job import DeepJob, adam_rate, averaged, forward, on_device, shared, stack
from .ranges import Axis

HELD = 64
Slope = Callable[[np.ndarray], np.ndarray]


def _system(rng: np.random.Generator) -> tuple[Slope, int, str]:
    """How a state changes, of how many numbers it is, and in words."""
    which, size = int(rng.integers(4)), float(rng.uniform(0, 1))
    if which == 0:
        drag = 0.3 * size
        return (
            lambda s: np.stack([s[:, 1], -2 * np.sin(2 * s[:, 0]) - drag * s[:, 1]], axis=1),
            2,
            f"pendulum, drag {drag:.2f}",
        )
    if which == 1:
        stiff = 0.5 + 2 * size
        return (
            lambda s: np.stack([s[:, 1], stiff * (1 - s[:, 0] ** 2) * s[:, 1] - s[:, 0]], axis=1),
            2,
            f"van der Pol, {stiff:.2f}",
        )
    if which == 2:
        eats = 0.6 + size
        return (
            lambda s: np.exp(s)[:, ::-1] * np.array([-1.0, eats]) + np.array([1.0, -1.0]),
            2,
            f"prey and hunters as logarithms, {eats:.2f}",
        )
    turn = rng.standard_normal((4, 4))
    turn = turn - turn.T - 0.3 * size * np.eye(4)
    return lambda s: np.tanh(s) @ turn.T, 4, "turning in four dimensions"


def _trajectories(
    rng: np.random.Generator, count: int, times: int, gap: float
) -> tuple[np.ndarray, str]:
    """True trajectories from chance starts, [n, T, S], and in words."""
    slope, size, what = _system(rng)
    state, found = rng.uniform(-1.2, 1.2, (count, size)), []
    for _ in range(times):
        found.append(state)
        for _ in range(20):
            half = state + gap / 40 * slope(state)
            state = state + gap / 20 * slope(half)
    return np.stack(found, axis=1), what


def _followed(w: Weights, h: Hypers, start: Tensor, times: int, gap: float) -> tuple[Tensor, ...]:
    """States [A, m, T, S] and the mean squared speed on the way, [A, m]; start [m, S]."""
    tanh = h.wide("activation", 3) == 1

    def bent(x: Tensor) -> Tensor:
        return torch.where(tanh, torch.tanh(x), functional.softplus(x) - 0.7)

    state, states = shared(start, len(h["lr"])), []
    work = torch.zeros(state.shape[:2], device=state.device)
    for at in range(times):
        states.append(state)
        if at + 1 < times:
            first = forward(w, h, state, None, activation=bent)
            speed = forward(w, h, state + gap / 2 * first, None, activation=bent)
            state = state + gap * speed
            work = work + (speed**2).mean(dim=2)
    return torch.stack(states, dim=2), work / (times - 1)


def _axes(rng: np.random.Generator, hidden: int) -> tuple[Axis, ...]:
    cosine = bool(rng.random() < 0.5)  # a schedule that warms up, or a constant rate
    rate = adam_rate("peak_value" if cosine else "learning_rate", 1e-3, 2e-2, "lr", "peak_lr")
    warm: tuple[Axis, ...] = (
        Axis("warmup_frac", (0.02, 0.2), (0.001, 0.7), log=True, also=("warmup",)),
        Axis("end_value_ratio", (1e-3, 0.1), (1e-5, 1.0), log=True, also=("alpha",)),
    )  # fmt: skip
    return (
        rate,
        *(warm if cosine else ()),
        Axis("width_size", (max(hidden // 4, 6), hidden), (2, hidden), log=True, whole=True,
             also=("hidden_dim", "width")),
        Axis("b1", (0.85, 0.95), (0.0, 0.99), also=("beta1",)),
        Axis("b2", (0.95, 0.999), (0.5, 0.9999), also=("beta2",)),
        Axis("eps", (1e-8, 1e-6), (1e-10, 0.1), log=True),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True),
        Axis("max_norm", (0.5, 5.0), (0.005, 50.0), log=True, also=("clip", "global_norm_clip")),
        Axis("kinetic_reg", (1e-5, 1e-3), (1e-8, 3.0), log=True,
             also=("lambda_k", "kinetic_energy")),
        Axis("init_scale", (0.3, 1.2), (0.01, 5.0), log=True, also=("weight_init_scale",)),
        Axis("batch_size", (8, 32), (1, 32), log=True, whole=True),
        Axis("activation", values=("tanh", "softplus")),
    )  # fmt: skip


def neural_ode(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """How a system changes, from some noisy trajectories of it."""
    few, times = int(rng.choice([8, 32, 128])), int(rng.choice([8, 14]))
    gap, loud = float(rng.choice([0.15, 0.3])), float(rng.choice([0.0, 0.03, 0.1]))
    paths, what = _trajectories(rng, few + HELD, times, gap)
    noisy = paths[:few] + loud * rng.standard_normal(paths[:few].shape)
    hidden, depth = 16 * widen, int(rng.integers(1, 3))
    logs = bool(rng.random() < 0.4)
    sizes = (paths.shape[2], *[hidden] * depth, paths.shape[2])

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        seen, held = on_device(noisy, draw), on_device(paths[few:], draw)

        def loss(w: Weights, some: Tensor) -> Tensor:
            states, work = _followed(w, h, seen[some, 0], times, gap)
            off = ((states - seen[some]) ** 2).mean(dim=(2, 3))
            return averaged(off + h["penalty"].view(-1, 1) * work, h)

        def measure(w: Weights) -> Tensor:
            states, _ = _followed(w, h, held[:, 0], times, gap)
            off = ((states - held) ** 2).mean(dim=(1, 2, 3))
            return off.log10() if logs else off

        return Model(stack(h, draw, same, sizes), loss, measure, few)

    axes = _axes(rng, hidden)
    keys = {
        "learning_rate": "lr", "peak_value": "lr", "warmup_frac": "warmup",
        "end_value_ratio": "final", "width_size": "width", "b1": "beta1", "b2": "beta2",
        "max_norm": "clip", "kinetic_reg": "penalty", "batch_size": "batch",
    }  # fmt: skip
    cosine = axes[0].name == "peak_value"
    fixed = {"batch": 16, "activation": "tanh", "schedule": "annealed" if cosine else "constant"}
    metric = "logarithm of the validation error" if logs else "validation squared error"
    about = f"{what}; {few} trajectories of {times}, noise {loud:g}"
    return DeepJob("neural-ode", metric, about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"neural_ode": neural_ode}
