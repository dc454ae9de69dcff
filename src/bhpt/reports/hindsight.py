"""How far to trust a study's predictions: gains predicted in its past against gains that came.

A predictor that was not trained on a kind of job may predict too much of it. The study shows that:
for some moments of its past the same prediction is made again, from what was known then, of where
it would be now. The gain that came over the gain that was promised, pooled over these moments, is
how much of a further gain is counted. A ratio that is usual for jobs that the predictor does not
know counts as some more such moments, so that few of them decide little.

Under a deadline or with money what is gone is what the epochs so far cost at the prices of now:
time in which workers started, compiled or warmed up has shown nothing, and will not come again.

Notation:
    g_m  gain that was promised at moment m of the past, a_m  gain that came
    trust = (Σ a_m + κ ρ ḡ) / (Σ g_m + κ ḡ),  ḡ the mean of g_m
    a gain g is counted as trust · g
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import Memory
from bhpt.domain.ledger import Ledger
from bhpt.reports.worlds import draw_worlds, look_at, spent_on_epochs
from bhpt.study import State

_MOMENTS = (0.35, 0.5, 0.65, 0.8)  # of the reports so far
_USUAL = 0.17  # ρ, measured on live jobs never met: benchmarks/records/live.md
_WEIGHT = 8.0  # κ, moments that the usual ratio stands for
_LEAST = 2  # reports before a moment
_MOST = 1.0  # a study that always did better than promised is not promised more than is predicted


Promise = Callable[[State, Predictor], float | None]
"""The gain that would be promised of what is left of a study; None for nothing."""


def trust(state: State, predictor: Predictor, promise: Promise | None = None) -> float:
    """The part of a predicted gain to count: it follows from what came of earlier predictions.

    Args:
        state: The study, which has seen a finite loss.
        predictor: Its predictor.
        promise: How gains are promised; as the stand-in plays if None.
    """
    if state.best is None:
        return _USUAL
    promise = promise or _promised
    promised, came = [], []
    for part in _MOMENTS:
        before = as_it_was(state, int(part * state.reports))
        gain = None if before is None else promise(before, predictor)
        if before is None or before.best is None or gain is None:
            continue
        promised.append(gain)
        came.append(before.best.loss - state.best.loss)
    total = sum(promised)
    if not total > 0:
        return _USUAL
    usual = _WEIGHT * total / len(promised)
    return float(min((sum(came) + _USUAL * usual) / (total + usual), _MOST))


def as_it_was(state: State, reports: int) -> State | None:
    """The study after so many of its reports, with what has been spent since then still to spend.

    Arms and what is known of their prices are those of now. Several workers are taken as one, so
    that the trust does not depend on how many there are.

    Returns:
        None if too little was known by then.
    """
    if state.curves is None or state.best is None or not _LEAST <= reports < state.reports:
        return None
    curves = state.curves.first(reports)
    if not np.isfinite(curves.best):
        return None
    share = float(curves.reports[:, 1].sum() / state.curves.reports[:, 1].sum())
    used = spent_on_epochs(state)
    budget = replace(state.ledger.budget, amount=max(used, np.finfo(float).tiny))
    return replace(
        state,
        curves=curves,
        open=(),
        open_arms=(),
        plan=replace(state.plan, workers=1, budget=budget),
        session=None,
        ledger=Ledger(budget, spent=share * used, clock=share * used),
        best=replace(state.best, loss=curves.best, saved=None),
    )


def _promised(before: State, predictor: Predictor) -> float | None:
    """The gain that the predictor would have promised of what was left; None for nothing."""
    worlds = draw_worlds(before, predictor, Memory())
    if worlds is None:
        return None
    looked = look_at(before, 0.0)
    if looked is None:
        return None
    chance = worlds.chance(None, looked)
    gain = worlds.best - worlds.played(chance).losses.mean()
    return float(gain) if gain > 0 else None
