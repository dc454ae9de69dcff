"""Which configurations are too much alike to be worth training both.

Two configurations are near-copies when no encoded column differs by `NEAR` or more: every number
is within a few hundredths of its range, every category is the same.

Notation:
    N  new configurations, K  known ones, D  columns.
"""

import numpy as np

from bhpt.domain import BoolArray, FloatArray

NEAR = 0.03
"""Part of a range below which two values count as the same."""


def near_copies(features: FloatArray, known: FloatArray, least: float = NEAR) -> BoolArray:
    """Which new configurations are near-copies of a known one, [N].

    Args:
        features: Encoded new configurations, [N, D].
        known: Encoded known ones, [K, D].
        least: How far apart at least one column has to be; at 0 nothing is a copy.
    """
    alike = np.ones((len(features), len(known)), bool)
    for column in range(features.shape[1]):
        alike &= np.abs(features[:, column, None] - known[None, :, column]) < least
    return np.asarray(alike.any(axis=1))


def apart(features: FloatArray, known: FloatArray, least: float = NEAR) -> list[int]:
    """Places of new configurations that are near-copies neither of known ones nor of each other.

    The earlier of two that are alike stays.

    Args:
        features: Encoded new configurations, [N, D].
        known: Encoded known ones, [K, D].
        least: As in `near_copies`.
    """
    open_places = ~near_copies(features, known, least)
    kept: list[int] = []
    for place in range(len(features)):
        if open_places[place]:
            kept.append(place)
            open_places[place:] &= ~near_copies(
                features[place:], features[place : place + 1], least
            )
    return kept
