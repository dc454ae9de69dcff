"""Additive models by cyclic boosting of one feature at a time, with the names of InterpretML.

Notation:
    N  examples, D  features, B  bins of a feature.
"""

import numpy as np
from numpy.typing import NDArray

from .data import Floats, Tabular, draw_tabular
from .job import Job, log_loss, squared
from .ranges import Axis, Config

ADDITIVE = (
    Axis("learning_rate", (0.02, 0.2), (1e-4, 3.0), log=True, always=True, also=("lr", "eta")),
    Axis("max_bins", (32, 256), (3, 512), log=True, whole=True),
    Axis("max_leaves", (2, 4), (2, 16), whole=True),
    Axis("min_samples_leaf", (2, 20), (1, 300), log=True, whole=True),
    Axis("reg_lambda", (0.01, 3.0), (1e-4, 1000.0), log=True),
    Axis("reg_alpha", (1e-3, 0.3), (1e-5, 30.0), log=True),
    Axis("inner_bag_fraction", (0.5, 1.0), (0.03, 1.0), also=("subsample",)),
    Axis("feature_fraction", (0.5, 1.0), (0.05, 1.0), also=("colsample", "greedy_ratio")),
    Axis("smoothing_rounds", (0, 10), (0, 60), whole=True),
)
Whole = NDArray[np.int64]


def _binned(data: Tabular, bins: int) -> tuple[Whole, Whole]:
    """Bins of equal counts of every feature, of rows to train on and to measure on, [N, D]."""
    found = []
    for x in (data.x, data.held_x):
        columns = []
        for at in range(data.x.shape[1]):
            cuts = np.unique(np.quantile(data.x[:, at], np.arange(1, bins) / bins))
            columns.append(np.searchsorted(cuts, x[:, at], side="right"))
        found.append(np.stack(columns, axis=1))
    return found[0], found[1]


def _leaf(slope: float, weight: float, c: Config) -> float:
    """The step that a leaf takes."""
    short = max(abs(slope) - float(c.get("reg_alpha", 0.0)), 0.0)
    return -float(np.sign(slope)) * short / (weight + float(c.get("reg_lambda", 0.0)) + 1e-9)


def _gain(slope: Floats, weight: Floats, c: Config) -> Floats:
    short = np.maximum(np.abs(slope) - float(c.get("reg_alpha", 0.0)), 0.0)
    return np.asarray(short**2 / (weight + float(c.get("reg_lambda", 0.0)) + 1e-9))


def _steps(
    slope: Floats, weight: Floats, count: Floats, c: Config, draw: np.random.Generator | None
) -> Floats:
    """The step of every bin by a tree of few leaves; cuts by chance if there is a draw, [B]."""
    sums = [np.concatenate([[0.0], np.cumsum(one)]) for one in (slope, weight, count)]
    g, h, n = sums
    parts = [(0, len(slope))]
    least = int(c.get("min_samples_leaf", 4))
    for _ in range(int(c.get("max_leaves", 3)) - 1):
        best: tuple[float, int, int] | None = None
        for at, (low, high) in enumerate(parts):
            cut = np.arange(low + 1, high)
            cut = cut[(n[cut] - n[low] >= least) & (n[high] - n[cut] >= least)]
            if not len(cut):
                continue
            if draw is not None:
                cut = draw.choice(cut, 1)
            gain = _gain(g[cut] - g[low], h[cut] - h[low], c)
            gain = gain + _gain(g[high] - g[cut], h[high] - h[cut], c)
            top = int(gain.argmax())
            if best is None or gain[top] > best[0]:
                best = (float(gain[top]), at, int(cut[top]))
        if best is None:
            break
        low, high = parts[best[1]]
        parts[best[1] : best[1] + 1] = [(low, best[2]), (best[2], high)]
    found = np.empty(len(slope))
    for low, high in parts:
        found[low:high] = _leaf(g[high] - g[low], h[high] - h[low], c)
    return found


def _chances(score: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -500, 500))))


def _lost(y: Floats, score: Floats, classes: int) -> float:
    """Log loss of two classes, or squared error."""
    if not classes:
        return squared(y, score)
    right = _chances(score)
    return log_loss(y, np.stack([1 - right, right], axis=1))


def additive_model(rng: np.random.Generator, longer: int = 1) -> Job:
    """An explainable boosting machine without interactions, of two classes or of values."""
    data = draw_tabular(rng, 1200)
    y, held_y, classes = data.y, data.held_y, min(data.classes, 2)
    if data.classes > 2:
        y, held_y = ((one == 0).astype(float) for one in (y, held_y))
    units, rounds = longer * int(rng.integers(8, 51)), int(rng.choice([1, 3]))
    start = float(y.mean())
    start = float(np.log((start + 1e-3) / (1 - start + 1e-3))) if classes else start

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        x, held = _binned(data, int(config.get("max_bins", 128)))
        score, held_score = np.full(len(x), start), np.full(len(held), start)
        rate, smooth = float(config["learning_rate"]), int(config.get("smoothing_rounds", 0))
        part, some = (float(config.get(n, 1.0)) for n in ("inner_bag_fraction", "feature_fraction"))
        losses = [_lost(held_y, held_score, classes)]
        for turn in range(units * rounds):
            kept = draw.random(len(x)) < part
            features = draw.permutation(x.shape[1])[: max(1, round(some * x.shape[1]))]
            for at in features:
                chance = _chances(score) if classes else score
                weight = chance * (1 - chance) if classes else np.ones(len(x))
                bins = int(max(x[:, at].max(), held[:, at].max())) + 1
                sums = [
                    np.asarray(np.bincount(x[kept, at], values[kept], bins), float)
                    for values in (chance - y, weight, np.ones(len(x)))
                ]
                step = _steps(sums[0], sums[1], sums[2], config, draw if turn < smooth else None)
                score = score + rate * step[x[:, at]]
                held_score = held_score + rate * step[held[:, at]]
            if (turn + 1) % rounds == 0:
                losses.append(_lost(held_y, held_score, classes))
        return losses

    metric = "validation log loss" if classes else "validation squared error"
    about = (
        f"{data.about}{', the first against the rest' * (data.classes > 2)}; {rounds} rounds a unit"
    )
    return Job("additive-model", metric, units, about, ADDITIVE, train)
