"""What every kind of budget promises: amounts can be typed again and stored, costs add up."""

from collections.abc import Sequence

import pytest

from bhpt.domain.budget import Budget
from bhpt.domain.budget_kinds import UnitCost
from bhpt.study import Keep, MemoryLog, Plan, Study, decode_event, encode_event
from bhpt.study.events import Event, StudyCreated


class BudgetContract:
    """Tests of a registered `BudgetKind`. Override the fixture `budget`."""

    @pytest.fixture
    def budget(self) -> Budget:
        """A budget of the kind, with a price if it needs one."""
        raise NotImplementedError("override the fixture `budget`")

    def test_a_budget_can_be_typed_again(self, budget: Budget) -> None:
        """What is shown of it is what `--budget` and `--add-budget` accept."""
        again = Budget.parse(str(budget), budget.price_per_hour)
        assert again.kind == budget.kind
        assert again.amount == pytest.approx(budget.amount, rel=0.01)
        assert Budget.parse(budget.rules.example, budget.price_per_hour).kind == budget.kind

    def test_a_budget_can_be_stored(self, budget: Budget) -> None:
        """A study that is resumed counts as before."""
        created = StudyCreated(Plan(budget))
        assert decode_event(encode_event(created)) == created

    def test_work_costs_and_more_work_costs_no_less(self, budget: Budget) -> None:
        """An attempt without epochs and seconds costs nothing, none has a negative cost."""
        rules = budget.rules
        assert rules.charge(0, 0.0) == 0.0
        assert rules.charge(3, 5.0) > 0
        for epochs in range(4):
            for seconds in (0.0, 0.5, 20.0):
                cost = rules.charge(epochs, seconds)
                assert cost >= 0
                assert rules.charge(epochs + 1, seconds) >= cost
                assert rules.charge(epochs, seconds + 1.0) >= cost

    def test_no_more_is_reserved_than_is_left(self, budget: Budget) -> None:
        """However a unit is predicted, and before anything was timed."""
        amount = budget.amount
        for part in (0.0, 0.1, 1.0, 3.0):
            for timed in (False, True):
                cost = UnitCost(part * amount, 1.5 * part * amount, timed, 0.0)
                for left in (amount, 0.2 * amount):
                    assert 0 <= budget.rules.reserve(cost, left, 2) <= left

    def test_the_whole_amount_may_be_used(self, budget: Budget) -> None:
        """It counts as used up, not as exceeded."""
        assert not budget.rules.is_exceeded(budget.amount, 0.0)
        assert budget.rules.used_text(budget.amount).strip()

    def test_a_study_ends_within_the_budget(self, budget: Budget) -> None:
        """Units of equal length, of which the budget pays for about twenty."""
        rate = budget.rules.charge(0, 1.0)
        seconds = budget.amount / 20 / rate if rate > 0 else 1.0
        log, now = MemoryLog(), [0.0]
        configs = [{"x": x} for x in range(8)]
        Study(configs, budget, max_epochs=10, policy="random", keep=_into(log)).close()
        study = Study.resume(log, "random", clock=lambda: now[0])
        units = 0
        while (unit := study.ask()) is not None and units < 500:
            now[0] += seconds
            study.tell(unit, [1.0 / (unit.done + 1 + i) for i in range(unit.epochs)], seconds)
            units += 1
        ledger = study.state.ledger
        assert 1 <= units < 500
        assert ledger.used > 0
        assert not budget.rules.is_exceeded(ledger.used, budget.rules.held(ledger.reserved))


def _into(log: MemoryLog) -> Keep:
    """Keep a study in a log that is at hand."""

    def keep(first: Sequence[Event]) -> MemoryLog:
        log.append(first, 0)
        return log

    return keep
