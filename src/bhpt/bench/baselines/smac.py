"""SMAC as the paper's BO on real tasks: the package itself, by its ask and tell, on finished arms.

The package is an extra and is imported when the first arm is chosen. Its surrogate,
acquisition function, share of random arms and size of the first design are its own; the maximiser
and the draw of the first design are ours, because the candidates are the arms and not a
continuous space.
"""

from dataclasses import dataclass
from importlib.util import find_spec

from bhpt.bench.baselines.to_the_end import Finished, ToTheEnd, untried
from bhpt.domain import Misuse, View
from bhpt.policies.interface import Decision, Explanation

_MISSING = "policy smac needs the package smac: pip install 'bhpt[smac]'"


def available() -> bool:
    """Whether the extra is installed."""
    return find_spec("smac") is not None


def make_smac() -> ToTheEnd:
    """The policy.

    Raises:
        Misuse: If the extra is not installed.
    """
    if not available():
        raise Misuse(_MISSING)
    return ToTheEnd(Smac())


@dataclass(frozen=True, eq=False)
class Smac:
    """Chooses the arm that SMAC suggests, given all finished ones."""

    def choose(self, view: View, finished: Finished) -> Decision:
        """Replay SMAC over the finished arms; it has no state but what the view shows."""
        from bhpt.bench.baselines import smac_session  # not at the top: needs the extra

        units = view.full
        bought = int(view.left / float(view.costs[view.choosable].min())) + len(view.curves.reports)
        arm, origin = smac_session.next_arm(
            features=view.features,
            finished=finished,
            untried=untried(view),
            trials=max(1, -(-bought // units)),
            seed=view.seed % 2**31,
        )
        return Decision(arm, Explanation.in_words(f"SMAC: {origin}", view.arms))
