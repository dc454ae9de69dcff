"""Random studies for the learned networks."""

from dataclasses import replace
from typing import Any

import numpy as np

from bhpt.beliefs.learned.features import NOISE
from bhpt.beliefs.learned.weights import shipped_policy
from bhpt.domain import BoolArray, Curves, FloatArray, View
from bhpt.spaces import encode_tokens
from bhpt.spaces.ranges import NumberRange

UNTRAINED = 2.0
KNOWING = shipped_policy()  # the network whose knowledge of names the tests ask for


def curves_of(rng: np.random.Generator, arms: int, epochs: int) -> FloatArray:
    """Losses that mostly fall, with noise, some above the untrained loss, [K, T]."""
    end = rng.uniform(0.1, 1.9, size=(arms, 1))
    speed = rng.uniform(0.5, 6.0, size=(arms, 1))
    fall = np.exp(-np.arange(1, epochs + 1) / speed)
    noise = 0.05 * rng.standard_normal((arms, epochs))
    return np.asarray(end + (2.1 - end) * fall + noise)


def study(
    seed: int,
    arms: int = 9,
    epochs: int = 12,
    unit: int = 1,
    columns: int = 3,
    reports: int = 20,
    **others: Any,
) -> View:
    """A study on its way: half of its units go to a few arms."""
    rng = np.random.default_rng(seed)
    table = curves_of(rng, arms, epochs)
    curves = Curves.empty(arms, epochs)
    for _ in range(reports):
        arm = int(rng.integers(arms if rng.random() < 0.5 else min(3, arms)))
        at = int(curves.count_by_arm[arm])
        if at < epochs:
            curves = curves.extend(arm, table[arm, at : at + unit])
    told = {"untrained": UNTRAINED, "left": 17.0, "costs": np.ones(arms), "seed": seed, **others}
    return View(curves=curves, unit=unit, features=rng.uniform(size=(arms, columns)), **told)


def with_losses(view: View, losses: FloatArray, **others: Any) -> View:
    """The view with other losses in the same places."""
    return replace(view, curves=replace(view.curves, losses=losses), **others)


NAMES = ("learning_rate", "momentum", "max_depth", "dropout", "p1", "weight_decay")


def some_tokens(seed: int, arms: int, known: float = 0.6) -> FloatArray:
    """Tokens of random configurations, in which a hyper-parameter may be absent, [K, N, F]."""
    rng = np.random.default_rng((seed, 8))
    chance = rng.choice([known, 1.0], len(NAMES))
    configs = [
        {
            name: float(10.0 ** rng.uniform(-4, 0))
            for name, c in zip(NAMES, chance, strict=True)
            if name == "learning_rate" or rng.random() < c
        }
        for _ in range(arms)
    ]
    ranges = {name: NumberRange(1e-4, 1.0, "log") for name in NAMES}
    return encode_tokens(configs, ranges)


def named(seed: int, arms: int = 9, **others: Any) -> View:
    """A study on its way whose hyper-parameters have names."""
    return study(seed, arms=arms, tokens=some_tokens(seed, arms), **others)


def posterior(prior: FloatArray, seen: BoolArray) -> FloatArray:
    """Covariance of what arms are like once some have been seen, all at once, [K, K]."""
    cross = prior[:, seen]
    gram = cross[seen] + NOISE * np.eye(int(seen.sum()))
    left: FloatArray = prior - cross @ np.linalg.solve(gram, cross.T)
    return left
