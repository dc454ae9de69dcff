"""The default with every opinion by names reversed: what misleading names cost.

Before each decision the tokens of arms are exchanged: the arm of which names promise most gets
those of the arm of which they promise least, and so on. Curves and features stay as they are.
"""

from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.network import Weights
from bhpt.domain import FloatArray, View
from bhpt.policies.interface import Decision, Policy

_END = 0  # column of opinions: the rank at the end


@dataclass(frozen=True, eq=False)
class MisledPolicy:
    """Lets a policy decide on views whose names promise the opposite.

    Attributes:
        policy: Decides.
        weights: Of the networks that read names.
    """

    policy: Policy
    weights: Weights

    def decide(self, view: View) -> Decision | None:
        """The decision of the policy that was misled."""
        if view.tokens is None:
            return self.policy.decide(view)
        return self.policy.decide(replace(view, tokens=reversed_tokens(view.tokens, self.weights)))


def reversed_tokens(tokens: FloatArray, weights: Weights) -> FloatArray:
    """The tokens of the arm with the best opinion for that with the worst, and so on, [K, N, F].

    Args:
        tokens: Of each arm, [K, N, F].
        weights: Of the networks that read names.
    """
    order = np.argsort(opinions(np, weights, tokens)[:, _END], kind="stable")
    swapped = np.empty_like(tokens)
    swapped[order] = tokens[order[::-1]]
    return swapped
