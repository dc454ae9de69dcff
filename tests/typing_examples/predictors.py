"""Types as somebody sees them who writes a predictor; mypy reads this file, nothing runs it."""

from typing import assert_type

import bhpt


class Cautious:
    """Predicts as another predictor does, but no further than one unit."""

    def __init__(self, other: bhpt.Predictor) -> None:
        self.other = other

    def predict(self, view: bhpt.View) -> bhpt.Ends:
        ends = self.other.predict(view)
        assert_type(ends, bhpt.Ends)
        return ends.within(view.horizon.clip(max=1))


class NoPredictor:
    """Predicts numbers instead of ends."""

    def predict(self, view: bhpt.View) -> list[float]:
        return [view.left] * view.arms


class Follows(bhpt.PredictingPolicy):
    """Names its predictor, and decides on the arm that it expects to end lowest."""

    def __init__(self, predictor: bhpt.Predictor) -> None:
        self._predictor = predictor

    @property
    def predictor(self) -> bhpt.Predictor:
        return self._predictor

    def decide(self, view: bhpt.View) -> bhpt.Decision | None:
        arm = int(self.predictor.predict(view).mean().argmin())
        return bhpt.Decision(arm, bhpt.Explanation.in_words("lowest end", view.arms))


def named(predictor: bhpt.Predictor) -> bhpt.Policy:
    good: bhpt.Predictor = Cautious(predictor)
    bad: bhpt.Predictor = NoPredictor()  # type: ignore[assignment]
    return Follows(good or bad)
