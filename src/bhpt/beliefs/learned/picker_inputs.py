"""From a view to the scores of its arms by the network of `picker`.

Notation:
    R  arms looked at, C  those that are compared
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.learned.arm_opinions import tokens_read
from bhpt.beliefs.learned.network_inputs import NetworkInputs
from bhpt.beliefs.learned.past import at
from bhpt.beliefs.learned.picker import MOST, configurations, curve_features, scores
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.domain import BoolArray, FloatArray, IntArray, Slot, View


@dataclass(frozen=True, eq=False)
class PickerScores:
    """Scores of arms that are compared, all of them tried ones or all untried.

    Attributes:
        places: Where they are among the arms looked at, [C].
        values: Logarithms of the chances that each is the one to pick, up to a constant, [C].
    """

    places: IntArray
    values: FloatArray


def picker_scores(
    view: View,
    inputs: NetworkInputs,
    trained: NetworkWeights,
    preferred: FloatArray,
    chosen: int,
) -> PickerScores | None:
    """Scores of the arms that one arm is compared with; None where nothing tells.

    A tried arm is compared with the tried ones that have come furthest, an untried one with those
    untried ones that are preferred most.

    Args:
        view: The study.
        inputs: The arms that the network which chooses looks at.
        trained: All networks.
        preferred: The preferences of the network which chooses, very low where an arm cannot
            run, [R].
        chosen: The place of the arm, which is compared in any case.
    """
    named = tokens_read(view, trained)
    if named is None or not trained.can_pick:
        return None
    moment = inputs.moment
    tried = moment.n > 0
    shown = _most(at(np, moment.q, moment.n), tried, chosen)
    if tried[chosen]:
        return _scored(view, inputs, trained, named, shown, shown) if len(shown) > 1 else None
    compared = _most(preferred, ~tried & (moment.open > 0), chosen)
    return _scored(view, inputs, trained, named, shown, compared) if len(shown) else None


def _scored(
    view: View,
    inputs: NetworkInputs,
    trained: NetworkWeights,
    named: FloatArray,
    shown: IntArray,
    compared: IntArray,
) -> PickerScores:
    """Scores of the arms at the places `compared`, beside the tried ones at the places `shown`."""
    tokens = named[inputs.rows].astype(np.float32)
    slot: Slot[FloatArray] = Slot("configurations of arms", trained)
    configured = view.memory.recall(slot, (tokens,), lambda: configurations(np, trained, tokens))
    new = compared is not shown
    places = np.concatenate([shown, compared]) if new else shown
    moment = inputs.moment
    seen = (moment.n[places] > 0).astype(np.float32)
    curves = curve_features(
        np, moment.q[places], moment.n[places], moment.r[places], moment.total, seen
    )
    values = scores(np, trained, curves.astype(np.float32), configured[places], seen)
    return PickerScores(compared, values[len(shown) :] if new else values)


def _most(value: FloatArray, among: BoolArray, chosen: int) -> IntArray:
    """Places of the arms of the highest value among some, with the chosen one if it is, [C]."""
    places = np.flatnonzero(among)
    if len(places) <= MOST:
        return places
    order = np.where(places == chosen, np.inf, value[places])
    return np.sort(places[np.argsort(-order, kind="stable")[:MOST]])
