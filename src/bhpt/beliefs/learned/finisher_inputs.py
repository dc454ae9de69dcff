"""From a view to the scores of its tried arms by the network of `finisher`.

Notation:
    R  arms looked at, C  tried ones that are compared
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.learned.arm_opinions import tokens_read
from bhpt.beliefs.learned.finisher import MOST, configurations, curve_features, scores
from bhpt.beliefs.learned.network_inputs import NetworkInputs
from bhpt.beliefs.learned.past import at
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.domain import BoolArray, FloatArray, IntArray, Slot, View


@dataclass(frozen=True, eq=False)
class FinisherScores:
    """Scores of the tried arms that are compared.

    Attributes:
        places: Where they are among the arms looked at, [C].
        values: Logarithms of the chances that each is the one to go on with, up to a constant, [C].
    """

    places: IntArray
    values: FloatArray


def finisher_scores(
    view: View, inputs: NetworkInputs, trained: NetworkWeights, chosen: int
) -> FinisherScores | None:
    """Scores of the tried arms that have come furthest; None where nothing tells.

    Args:
        view: The study.
        inputs: The arms that the network which chooses looks at.
        trained: All networks.
        chosen: The place of a tried arm that is compared in any case.
    """
    named = tokens_read(view, trained)
    if named is None or not trained.knows_finishers:
        return None
    moment = inputs.moment
    places = _compared(at(np, moment.q, moment.n), moment.n > 0, chosen)
    if len(places) < 2:
        return None
    tokens = named[inputs.rows[places]].astype(np.float32)
    slot: Slot[FloatArray] = Slot("configurations of tried arms", trained)
    configured = view.memory.recall(slot, (tokens,), lambda: configurations(np, trained, tokens))
    seen = np.ones(len(places), np.float32)
    curves = curve_features(
        np, moment.q[places], moment.n[places], moment.r[places], moment.total, seen
    )
    values = scores(np, trained, curves.astype(np.float32), configured, seen)
    return FinisherScores(places, values)


def _compared(reached: FloatArray, tried: BoolArray, chosen: int) -> IntArray:
    """Places of the tried arms that have come furthest, and of the chosen one, in order, [C]."""
    places = np.flatnonzero(tried)
    if len(places) <= MOST:
        return places
    order = np.where(places == chosen, np.inf, reached[places])
    return np.sort(places[np.argsort(-order, kind="stable")[:MOST]])
