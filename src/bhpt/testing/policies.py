"""What every policy promises: it decides on arms that may run, repeatably, and changes nothing.

The views come from whole studies on made-up curves, decided by the policy under test: fresh ones,
ones in which a few arms lead, ones with units in flight, with curves that are no numbers, and
with almost nothing left.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace

import numpy as np
import pytest

from bhpt.domain import Misuse, View
from bhpt.policies.interface import Decision, Policy, refuse_side_by_side
from bhpt.study import Study

MakePolicy = Callable[[], Policy]

_ARMS = 9
_EPOCHS = 6  # the last epoch of an arm


@dataclass
class _Recorder:
    """A policy that keeps the views it was given and the decisions of another."""

    policy: Policy
    views: list[View] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    def decide(self, view: View) -> Decision | None:
        """As the other decides."""
        decision = self.policy.decide(view)
        if decision is not None:
            self.views.append(view)
            self.decisions.append(decision)
        return decision


class PolicyContract:
    """Tests of a `Policy`. Override the fixture `make_policy`.

    Attributes:
        budget: Of the studies that are decided, in epochs, at least 6; fewer save time where a
            decision takes long.
    """

    budget: int = 24

    @pytest.fixture
    def make_policy(self) -> MakePolicy:
        """Makes a new policy: the class, if its `__init__` needs no arguments."""
        raise NotImplementedError("override the fixture `make_policy`")

    def test_a_study_spends_its_whole_budget(self, make_policy: MakePolicy) -> None:
        """While an arm can run a unit, the policy names one."""
        study, seen = self._run(make_policy)
        assert study.state.ledger.spent == self.budget
        assert len(seen.decisions) == self.budget

    def test_only_arms_that_may_start_are_chosen(self, make_policy: MakePolicy) -> None:
        """Not finished, not in flight and within what is left."""
        _, seen = self._run(make_policy)
        for view, decision in zip(seen.views, seen.decisions, strict=True):
            assert view.choosable[decision.arm]

    def test_units_in_flight_are_left_alone(self, make_policy: MakePolicy) -> None:
        """With three workers; a policy may refuse several, then this is skipped."""
        try:
            refuse_side_by_side(make_policy(), 3)
        except Misuse as refusal:
            pytest.skip(str(refusal))
        _, seen = self._run(make_policy, workers=3)
        assert any(len(view.pending) for view in seen.views)
        for view, decision in zip(seen.views, seen.decisions, strict=True):
            assert decision.arm not in view.pending
            assert view.choosable[decision.arm]

    def test_nothing_is_chosen_when_nothing_can_run(self, make_policy: MakePolicy) -> None:
        """With no budget left."""
        _, seen = self._run(make_policy)
        for view in (seen.views[0], seen.views[-1]):
            assert make_policy().decide(replace(view, left=0.0)) is None

    def test_the_same_view_gives_the_same_decision(self, make_policy: MakePolicy) -> None:
        """In any order and by a new policy: a study that is resumed decides as it would have."""
        _, seen = self._run(make_policy)
        places = (-1, 0, self.budget // 2)
        old = make_policy()
        for place in places:
            assert _arm(old, seen.views[place]) == seen.decisions[place].arm
        for place in places:
            assert _arm(make_policy(), seen.views[place]) == seen.decisions[place].arm

    def test_deciding_changes_nothing(self, make_policy: MakePolicy) -> None:
        """The view's arrays are shared with the study."""
        _, seen = self._run(make_policy)
        policy = make_policy()
        for view in (seen.views[0], seen.views[self.budget // 2]):
            before = _contents(view)
            decision = policy.decide(view)
            assert decision is not None
            assert decision.explanation is not None
            assert _contents(view) == before

    def test_every_decision_is_explained(self, make_policy: MakePolicy) -> None:
        """With one sentence, and numbers for every arm."""
        _, seen = self._run(make_policy)
        for view, decision in zip(seen.views, seen.decisions, strict=True):
            explanation = decision.explanation
            assert explanation.why.strip()
            assert "\n" not in explanation.why
            for numbers in (explanation.end, explanation.spread, explanation.value):
                assert np.shape(numbers) == (view.arms,)

    def test_losses_that_are_no_numbers_do_no_harm(self, make_policy: MakePolicy) -> None:
        """Even where every arm diverges."""
        for diverging in (range(0, _ARMS, 2), range(_ARMS)):
            study, _ = self._run(make_policy, diverging=diverging)
            assert study.state.ledger.spent == self.budget

    def test_a_single_arm_is_trained_to_its_end(self, make_policy: MakePolicy) -> None:
        """There is nothing to choose from."""
        study, seen = self._run(make_policy, arms=1)
        assert [decision.arm for decision in seen.decisions] == [0] * _EPOCHS
        assert study.state.ledger.spent == _EPOCHS

    def _run(
        self,
        make_policy: MakePolicy,
        arms: int = _ARMS,
        workers: int = 1,
        diverging: range = range(0),
    ) -> tuple[Study, _Recorder]:
        """A study to its end, with all that its policy saw and decided."""
        configs = [{"learning_rate": 10 ** (-4 + 3 * arm / _ARMS)} for arm in range(arms)]
        seen = _Recorder(make_policy())
        study = Study(
            configs,
            f"{self.budget} epochs",
            max_epochs=_EPOCHS,
            seed=3,
            policy=seen,
            workers=workers,
        )
        while True:
            while (unit := study.ask()) is not None:
                pass
            if not study.in_flight:
                return study, seen
            unit = study.in_flight[0]
            bad = unit.arm in diverging
            losses = [
                math.nan if bad else _loss(unit.arm, unit.done + i + 1) for i in range(unit.epochs)
            ]
            study.tell(unit, losses, seconds=1.0)


def _loss(arm: int, epoch: int) -> float:
    """A curve that falls to a height of its own."""
    return 0.1 + abs(arm - 4) / 10 + math.exp(-epoch / (1 + arm % 3))


def _arm(policy: Policy, view: View) -> int | None:
    decision = policy.decide(view)
    return None if decision is None else decision.arm


def _contents(value: object) -> object:
    """Everything that a value holds, copied, so that it can be compared later."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(_contents(getattr(value, part.name)) for part in fields(value))
    return value
