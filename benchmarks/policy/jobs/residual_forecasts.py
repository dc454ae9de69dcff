"""Forecasts by blocks that explain what earlier blocks left (N-BEATS).

Names are those of Darts, of GluonTS or of NeuralForecast.

Notation:
    A  arms, m  windows of a step, B  steps back, F  steps ahead, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked
from .deep_job import DeepJob, adam_rate, averaged, on_device, shared, stack
from .ranges import Axis

LONG, HELD_FROM = 360, 280


def _series(rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Positive series as shops, machines and streets have them, [n, LONG], and in words."""
    count, t = int(rng.choice([1, 6, 30])), np.arange(LONG)
    period, loud = int(rng.choice([7, 12, 24])), float(rng.choice([0.05, 0.2, 0.5]))
    shape = rng.standard_normal(period)
    level = np.exp(rng.normal(2, 1, (count, 1)))
    growth = np.exp(np.cumsum(rng.normal(0, rng.choice([0.003, 0.02]), (count, LONG)), axis=1))
    swing = (
        rng.uniform(0.1, 0.6, (count, 1))
        * shape[(t + rng.integers(period, size=(count, 1))) % period]
    )
    jumps = np.where(rng.random((count, LONG)) < 0.006, rng.normal(0, 0.5, (count, LONG)), 0.0)
    noise = loud * rng.standard_normal((count, LONG))
    series = level * growth * np.exp(0.7 * swing + np.cumsum(jumps, axis=1) + noise)
    if rng.random() < 0.25:  # what is sold seldom
        series = series * (rng.random(series.shape) < 0.4)
    return series, f"{count} series, period {period}, noise {loud:g}"


def _windows(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Windows to train on and to measure on, [n, size], and in words."""
    series, what = _series(rng)
    cut = np.lib.stride_tricks.sliding_window_view(series, size, axis=1)
    inside = cut[:, : HELD_FROM - size].reshape(-1, size)
    held = cut[:, HELD_FROM - size // 2 :].reshape(-1, size)
    return inside, held[rng.permutation(len(held))[:240]], what


def _explained(w: Weights, h: Hypers, past: Tensor, blocks: int, draw: Draw | None) -> Tensor:
    """Forecasts [A, m, F] from pasts [A, m, B]; a block sees what those before did not explain."""
    ahead: Tensor | float = 0.0
    wide, narrow = h["width"], h["rank"]
    for at in range(blocks):
        on = (h["layers"] > at).view(-1, 1, 1)
        z = past
        for layer in range(2):
            z = torch.relu(dense(w, f"block{at}_{layer}", z))
            z = dropped(masked(z, wide), h["drop"], draw)
        code = masked(dense(w, f"code{at}_0", z), narrow)
        if at + 1 < blocks:
            past = past - on * dense(w, f"back{at}_0", code)
        ahead = ahead + on * dense(w, f"ahead{at}_0", code)
    return torch.as_tensor(ahead)


def _axes(rng: np.random.Generator, back: int, hidden: int, deepest: int) -> tuple[Axis, ...]:
    """Names of Darts, of GluonTS, or of NeuralForecast."""
    seen, blocks, width, code, clip, rate = (
        ("input_chunk_length", "num_blocks", "layer_widths", "expansion_coefficient_dim",
         "gradient_clip_val", "lr"),
        ("context_length", "num_blocks", "widths", "expansion_coefficient_lengths",
         "clip_gradient", "learning_rate"),
        ("input_size", "n_blocks", "mlp_units", "n_harmonics", "gradient_clip_val",
         "learning_rate"),
    )[int(rng.integers(3))]  # fmt: skip
    return (
        adam_rate(rate, 5e-4, 5e-3),
        Axis(seen, (back // 2, back), (2, back), log=True, whole=True),
        Axis(blocks, (2, 4), (1, 4), whole=True),
        Axis(width, (max(hidden // 4, 8), hidden), (2, hidden), log=True, whole=True),
        Axis(code, (4, deepest), (1, deepest), log=True, whole=True),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8), also=("dropout_rate", "dropout_prob_theta")),
        Axis("weight_decay", (1e-6, 1e-2), (1e-8, 3.0), log=True),
        Axis(clip, (0.1, 5.0), (0.005, 50.0), log=True),
        Axis("batch_size", (32, 128), (2, 128), log=True, whole=True,
             also=("windows_batch_size",)),
        Axis("loss", values=("l1", "l2"), also=("loss_fn", "likelihood")),
        Axis("lr_scheduler", values=("constant", "linear", "cosine")),
    )  # fmt: skip


def n_beats(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """The next values of series, each window in units of the mean of its past."""
    back, ahead = int(rng.choice([24, 36])), int(rng.choice([3, 6, 12]))
    inside, held, what = _windows(rng, back + ahead)
    hidden, deepest, blocks = 24 * widen, 12, 4
    absolute = bool(rng.random() < 0.5)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, apart = on_device(inside, draw), on_device(held, draw)
        weights: Weights = {}
        for at in range(blocks):
            weights |= stack(h, draw, same, (back, hidden, hidden), f"block{at}_")
            weights |= stack(h, draw, same, (hidden, deepest), f"code{at}_")
            weights |= stack(h, draw, same, (deepest, ahead), f"ahead{at}_")
            if at + 1 < blocks:
                weights |= stack(h, draw, same, (deepest, back), f"back{at}_")
        age = torch.arange(back - 1, -1, -1, device=draw.device)
        shown = (age < h["seen"].view(-1, 1)).view(arms, 1, back).float()

        def off(w: Weights, part: Tensor, using: Draw | None) -> tuple[Tensor, Tensor]:
            """Errors in units of each window's past, [A, m, F], and these units, [A, m, 1]."""
            past = shared(part[:, :back], arms) * shown
            unit = past.sum(dim=2, keepdim=True) / shown.sum(dim=2, keepdim=True) + 1e-2
            guess = 1 + _explained(w, h, (past / unit - 1) * shown, blocks, using)
            return guess - part[:, back:] / unit, unit

        def loss(w: Weights, some: Tensor) -> Tensor:
            apart_by, _ = off(w, seen[some], draw)
            flat = (h["criterion"] > 0).view(-1, 1)
            return averaged(torch.where(flat, apart_by.abs().mean(2), (apart_by**2).mean(2)), h)

        def measure(w: Weights) -> Tensor:
            apart_by, unit = off(w, apart, None)
            scale = apart[:, back:].abs().mean()
            if absolute:
                return (apart_by * unit).abs().mean(dim=(1, 2)) / scale
            return ((apart_by * unit) ** 2).mean(dim=(1, 2)).sqrt() / scale

        return Model(weights, loss, measure, len(inside))

    axes = _axes(rng, back, hidden, deepest)
    canonical = ("lr", "seen", "layers", "width", "rank", "drop", "weight_decay", "clip", "batch",
                 "criterion", "schedule")  # fmt: skip
    keys = {axis.name: name for axis, name in zip(axes, canonical, strict=True)}
    metric = "normalised absolute error" if absolute else "normalised root of the squared error"
    fixed = {"batch": 64, "criterion": "l1", "init_scale": 0.7}
    about = f"{what}, {back} back, {ahead} ahead"
    return DeepJob("n-beats", metric, about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"n_beats": n_beats}
