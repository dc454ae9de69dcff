"""Text classification by mean vectors of words and neighbouring words, as fastText does it.

Notation:
    N  texts, L  words of a text, V  rows of vectors, D  numbers of a vector, C  classes.
"""

import numpy as np
from numpy.typing import NDArray

from .data import Floats
from .job import Job, log_loss
from .ranges import Axis, Config

AXES = (
    Axis("lr", (0.1, 1.0), (1e-3, 30.0), log=True, always=True, also=("learning_rate",)),
    Axis("dim", (10, 50), (1, 100), log=True, whole=True, also=("vector_size", "embedding_dim")),
    Axis("wordNgrams", (1, 2), (1, 4), whole=True, also=("word_ngrams",)),
    Axis("minCount", (1, 5), (1, 60), log=True, whole=True, also=("min_count",)),
    Axis("bucket", (500, 4000), (20, 4000), log=True, whole=True),
    Axis("lrUpdateRate", (0.0, 0.02), (0.0, 0.1), also=("lr_decay",)),
    Axis("t", (1e-3, 1e-1), (1e-6, 1.0), log=True, also=("sampling_threshold",)),
)
Whole = NDArray[np.int64]


def _texts(rng: np.random.Generator) -> tuple[Whole, Whole, int, int, str]:
    """Texts whose class is told by words, or by pairs of neighbours."""
    count, length = int(rng.choice([300, 800])), int(rng.choice([6, 12]))
    words, classes = int(rng.choice([60, 300])), int(rng.integers(2, 6))
    x = rng.choice(words, size=(count, length), p=rng.dirichlet(np.full(words, 0.4)))
    y = rng.integers(classes, size=count)
    pairs = bool(rng.random() < 0.4)
    own = rng.integers(words, size=(classes, 6, 2))
    for row in range(count):
        if rng.random() < 0.85:
            at, which = int(rng.integers(length - 1)), int(rng.integers(6))
            x[row, at] = own[y[row], which, 0]
            if pairs:
                x[row, at + 1] = own[y[row], which, 1]
    about = f"{count} texts of {length} of {words} words, {classes} classes"
    return x, y, words, classes, about + (", pairs" if pairs else "")


def _rows(x: Whole, words: int, config: Config, half: int) -> Whole:
    """Numbers of the vectors of a text's words and n-grams, [N, L']; -1 for none."""
    often = np.bincount(x[:half].ravel(), minlength=words)
    rows = [np.where(often[x] >= int(config.get("minCount", 1)), x, -1)]
    bucket = int(config.get("bucket", 2000))
    for size in range(2, min(int(config.get("wordNgrams", 1)), x.shape[1]) + 1):
        hashed = np.zeros((len(x), x.shape[1] - size + 1), np.int64)
        for at in range(size):
            hashed = (hashed * 116049371 + x[:, at : at + hashed.shape[1]] + 1) % 2**31
        rows.append(words + hashed % bucket)
    return np.concatenate(rows, axis=1)


def fast_text(rng: np.random.Generator, longer: int = 1) -> Job:
    """Mean vectors and a softmax, text by text."""
    x, y, words, classes, about = _texts(rng)
    half = len(x) * 3 // 5
    units, part = longer * int(rng.integers(8, 41)), float(rng.choice([0.2, 0.5]))
    error = bool(rng.random() < 0.5)

    def train(config: Config, seed: int) -> list[float]:
        with np.errstate(all="ignore"):
            return learned(config, np.random.default_rng(seed))

    def learned(config: Config, draw: np.random.Generator) -> list[float]:
        rows = _rows(x, words, config, half)
        size = int(config.get("dim", 20))
        vectors = draw.uniform(-1, 1, (words + int(config.get("bucket", 2000)), size)) / size
        out, losses = np.zeros((size, classes)), []
        total = units * max(1, int(part * half))
        rare = _kept(x, words, half, float(config.get("t", 1e9)))
        for step in range(total + 1):
            if step % (total // units) == 0:
                losses.append(_loss(vectors, out, rows[half:], y[half:], error))
            row = int(draw.integers(half))
            keep = rows[row][rows[row] >= 0]
            keep = keep[
                (keep >= words) | (draw.random(len(keep)) < rare[np.minimum(keep, words - 1)])
            ]
            if not len(keep):
                continue
            fall = 1 - step / (total + 1)
            slow = np.exp(-float(config.get("lrUpdateRate", 0.0)) * step)
            mean = vectors[keep].mean(axis=0)
            off = _softmax((mean @ out)[None])[0]
            off[y[row]] -= 1
            rate = float(config["lr"]) * fall * slow
            back = out @ off
            out -= rate * np.outer(mean, off)
            np.subtract.at(vectors, keep, rate * back / len(keep))
        return losses[: units + 1]

    metric = "validation error rate" if error else "validation log loss"
    return Job("fasttext", metric, units, f"{about}; {part:g} of the texts a unit", AXES, train)


def _kept(x: Whole, words: int, half: int, threshold: float) -> Floats:
    """The chance that a word is kept: frequent ones are dropped now and then, [V]."""
    often = (np.bincount(x[:half].ravel(), minlength=words) + 1) / (half * x.shape[1])
    return np.asarray(np.minimum(1.0, np.sqrt(threshold / often) + threshold / often))


def _softmax(x: Floats) -> Floats:
    high = np.exp(np.clip(x - x.max(axis=1, keepdims=True), -60, 0))
    return np.asarray(high / high.sum(axis=1, keepdims=True))


def _loss(vectors: Floats, out: Floats, rows: Whole, y: Whole, error: bool) -> float:
    there = (rows >= 0)[:, :, None]
    mean = (vectors[np.maximum(rows, 0)] * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    chances = _softmax(mean @ out)
    if not np.isfinite(chances).all():
        return float("nan")
    if error:
        return float(np.mean(chances.argmax(axis=1) != y))
    return log_loss(y.astype(float), chances)
