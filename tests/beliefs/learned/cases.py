"""Random studies for the learned networks."""

from dataclasses import replace
from typing import Any

import numpy as np

from bhpt.beliefs.learned.features import NOISE
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import BoolArray, Curves, FloatArray, View
from bhpt.spaces import ROLES

UNTRAINED = 2.0
KNOWING = shipped("policy")  # the network whose knowledge of names the tests ask for


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


def some_meanings(seed: int, arms: int, known: float = 0.6) -> FloatArray:
    """What names might say: a role is known for all arms, for none or for some, [K, M]."""
    rng = np.random.default_rng((seed, 8))
    chance = rng.choice([0.0, known, 1.0], len(ROLES))
    said = 1.5 * rng.standard_normal((arms, len(ROLES)))
    return np.where(rng.random(said.shape) < chance, said, np.nan)


def named(seed: int, arms: int = 9, **others: Any) -> View:
    """A study on its way whose hyper-parameters have names."""
    return study(seed, arms=arms, meanings=some_meanings(seed, arms), **others)


def posterior(prior: FloatArray, seen: BoolArray) -> FloatArray:
    """Covariance of what arms are like once some have been seen, all at once, [K, K]."""
    cross = prior[:, seen]
    gram = cross[seen] + NOISE * np.eye(int(seen.sum()))
    left: FloatArray = prior - cross @ np.linalg.solve(gram, cross.T)
    return left
