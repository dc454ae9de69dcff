"""Types as somebody sees them who writes a policy; mypy reads this file, nothing runs it."""

from typing import assert_type

import numpy as np

import bhpt


class Longest:
    """Goes on with the arm that has trained longest."""

    def decide(self, view: bhpt.View) -> bhpt.Decision | None:
        arms = np.flatnonzero(view.choosable)
        if not len(arms):
            return None
        assert_type(view.curves, bhpt.Curves)
        assert_type(view.arms, int)
        arm = int(arms[view.curves.count_by_arm[arms].argmax()])
        return bhpt.Decision(arm, bhpt.Explanation.in_words("it has trained longest", view.arms))


class NoPolicy:
    """Decides with an arm instead of a decision."""

    def decide(self, view: bhpt.View) -> int:
        return view.arms - 1


good: bhpt.Policy = Longest()
bad: bhpt.Policy = NoPolicy()  # type: ignore[assignment]
