"""Curves of invented tasks, as different as real ones are, to train the policy on.

A world draws how its arms depend on their configurations (smooth in some features, blind to
others, partly by chance), what learning looks like there (power law, exponential, sigmoid, or
going on for ever, with a late drop as from a learning-rate schedule), how speed and end go
together, how many arms never learn or diverge, and how noisy it all is.

Notation:
    K  arms, D  features, T  units.
"""

import numpy as np

from bhpt.domain import FloatArray


def world(rng: np.random.Generator, arms: int, units: int) -> tuple[FloatArray, FloatArray]:
    """Improvements, [K, T + 1], best so far, at most 1; and features, [K, D]."""
    x = rng.uniform(size=(arms, int(rng.integers(2, 10))))
    chance = rng.beta(1.0, 3.0)
    quality, speed, onset, fate = (_latent(rng, x, chance) for _ in range(4))
    tied = rng.uniform(-0.9, 0.9)
    speed = tied * quality + np.sqrt(1 - tied**2) * speed
    end = _ends(rng, quality)
    scale = np.exp(np.log(rng.uniform(0.3, 25.0)) + rng.uniform(0.1, 1.2) * speed)
    t = np.arange(units + 1.0)[None, :]
    start = np.maximum(0.0, rng.normal(0, 3) + rng.exponential(3.0) * onset)[:, None]
    shape = _shape(rng, np.maximum(t - start, 0.0) / scale[:, None], units / scale[:, None])
    curve = end[:, None] * shape
    if rng.random() < 0.3:
        curve = curve * (1 - rng.uniform(0, 0.3) * (1 - _late(rng, t / units)))
    if rng.random() < 0.45:
        stuck = fate > np.quantile(fate, 1 - rng.choice([0.1, 0.3, 0.6, 0.85, 0.94]))
        curve = np.where(stuck[:, None], rng.uniform(0, 0.25) * np.minimum(curve, 0.2), curve)
    noise = np.exp(rng.uniform(np.log(1e-4), np.log(0.05)))
    curve = curve + noise * rng.standard_normal(curve.shape) * (t > 0)
    improved = np.maximum.accumulate(np.maximum(curve, 0.0), axis=1)
    improved[:, 0] = 0.0
    return improved / max(float(improved.max()), 1e-9), x


def _latent(rng: np.random.Generator, x: FloatArray, chance: float) -> FloatArray:
    """A smooth function of the configuration with a part of pure chance, standardised, [K]."""
    features = x.shape[1]
    relevance = np.asarray(rng.uniform(size=features) ** 2 * (rng.random(features) < 0.7))
    waves = rng.standard_normal((features, 64)) * (relevance * rng.uniform(1, 6))[:, None]
    smooth = np.cos(x @ waves + rng.uniform(0, 2 * np.pi, 64)) @ rng.standard_normal(64)
    if rng.random() < 0.6:  # most hyper-parameters have one good region
        best = rng.uniform(size=features)
        smooth = _standard(smooth) - 3 * _standard(((x - best) ** 2 * relevance).sum(axis=1))
    mixed = (1 - chance) * _standard(smooth) + chance * rng.standard_normal(len(x))
    return _standard(mixed)


def _standard(values: FloatArray) -> FloatArray:
    centred: FloatArray = (values - values.mean()) / (values.std() + 1e-9)
    return centred


def _ends(rng: np.random.Generator, quality: FloatArray) -> FloatArray:
    """Where curves go, in (0, 1], [K]."""
    spread = np.exp(rng.uniform(np.log(0.03), np.log(1.5)))
    kind = rng.integers(3)
    if kind == 0:
        return np.asarray(1 / (1 + np.exp(-(quality - rng.normal(0, 1)) * 3 * spread)))
    if kind == 1:  # relative to the untrained loss on a logarithmic scale
        log = rng.uniform(0.2, 4.0) * np.exp(spread * quality - 0.5)
        return np.asarray(1 - np.exp(-log))
    return np.asarray(np.clip(rng.uniform(0.4, 0.95) + 0.3 * spread * quality, 0.0, 1.0))


def _shape(rng: np.random.Generator, s: FloatArray, whole: FloatArray) -> FloatArray:
    """How a curve rises from 0 to about 1 in scaled time s ≥ 0."""
    kind = rng.integers(4)
    if kind == 0:
        return np.asarray(1 - (1 + s) ** -rng.uniform(0.3, 2.5))
    if kind == 1:
        return np.asarray(1 - np.exp(-(s ** rng.uniform(0.4, 1.3))))
    if kind == 2:
        sharp = rng.uniform(1.0, 4.0)
        return np.asarray(s**sharp / (1 + s**sharp))
    return np.asarray(np.log1p(s) / np.log1p(whole + 1e-9))


def _late(rng: np.random.Generator, part: FloatArray) -> FloatArray:
    """What a learning-rate schedule brings: a drop at a step, or all along a cosine."""
    if rng.random() < 0.5:
        return np.asarray(1 / (1 + np.exp(-(part - rng.uniform(0.4, 0.8)) * 60)))
    return np.asarray(0.5 * (1 - np.cos(np.pi * part)))
