"""The contract of kinds of budget over those that come with the package."""

import pytest

from bhpt.domain.budget import Budget
from bhpt.testing import BudgetContract


class TestKinds(BudgetContract):
    @pytest.fixture(
        params=[Budget(40), Budget(90.0, "seconds"), Budget(5.0, "dollars", price_per_hour=2.0)],
        ids=str,
    )
    def budget(self, request: pytest.FixtureRequest) -> Budget:
        made: Budget = request.param
        return made
