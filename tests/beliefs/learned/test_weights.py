"""The weights that ship: they fit the features, are finite, and belong to these very features."""

from typing import Literal

import numpy as np
import pytest

from bhpt.beliefs.learned.network import EDGES, histogram, preferences, trunk
from bhpt.beliefs.learned.observing import see
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import Curves, View

HIDDEN = 64
LIKED = [-2.1868109, -24.3653375, -32.6097487, -33.8723511, -31.8288402, -26.2792573]
BINS = [
    [-2.0063381, -5.3670622, -1.6169712],
    [-2.6467663, -6.4201550, -0.7271291],
    [-0.6593777, -4.9350805, -0.1878274],
    [2.4237802, -0.1036308, -2.7168571],
    [-1.1446116, -2.6961636, -0.9572536],
    [-1.0154995, -2.6880407, -0.9969888],
]  # three of the bins of each arm


def moment() -> View:
    """A study without chance."""
    t = np.arange(1, 9)
    curves = [list(0.2 + 0.1 * k + 0.6 * np.exp(-t[: 2 * k + 1] / (k + 1))) for k in range(4)]
    features = np.array([[0.1, 0.9], [0.4, 0.6], [0.8, 0.5], [0.6, 0.1], [0.2, 0.3], [0.9, 0.9]])
    costs = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 0.5])
    return View(Curves.of([*curves, [], []], 8), 1, 12.0, costs, features, untrained=1.0)


@pytest.mark.parametrize("name", ["policy", "ends"])
def test_shapes_fit_the_features(name: Literal["policy", "ends"]) -> None:
    sight = see(moment())
    arms, study = sight.arms.shape[1], len(sight.study)
    shapes = {
        "arm": (arms, HIDDEN),
        "study": (study + arms, HIDDEN),
        "bias": (HIDDEN,),
        "mix": (HIDDEN, HIDDEN),
        "mix_bias": (HIDDEN,),
        "pool": (3 * HIDDEN + study + arms, HIDDEN),
        "pool_bias": (HIDDEN,),
        "own": (HIDDEN, HIDDEN),
        "others": (HIDDEN, HIDDEN),
        "own_bias": (HIDDEN,),
    }
    if name == "policy":
        shapes["choice"] = (HIDDEN,)
    else:
        shapes |= {"bins": (HIDDEN, len(EDGES) + 1), "bins_bias": (len(EDGES) + 1,)}
    weights = shipped(name)
    assert {key: value.shape for key, value in weights.items()} == shapes
    assert all(np.isfinite(value).all() and value.any() for value in weights.values())


def test_weights_and_features_have_not_parted() -> None:
    """What the networks said when they were shipped.

    Whoever changes a feature, its place or the network has to train anew, and then to write new
    numbers here: a network that is told other things than it was trained on may still do well
    enough not to be noticed.
    """
    sight = see(moment())
    exists = sight.moment.exists
    weights = shipped("policy")
    out = trunk(np, weights, sight.arms, sight.study, exists)
    liked = preferences(np, weights, out, sight.moment.open)
    np.testing.assert_allclose(liked, LIKED, atol=1e-6)
    weights = shipped("ends")
    raw = histogram(weights, trunk(np, weights, sight.arms, sight.study, exists))
    np.testing.assert_allclose(raw[:, [0, 12, 30]], BINS, atol=1e-6)
