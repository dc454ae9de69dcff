"""The contract of policies over those that people tune with."""

import pytest

from bhpt.policies.registry import make_policy as named
from bhpt.testing import PolicyContract
from bhpt.testing.policies import MakePolicy

QUICK = ["default", "learned", "random", "sh", "asha", "hyperband", "i-epoch"]
SLOW = ["nameless", "bhpt", "next-unit"]


class TestQuickPolicies(PolicyContract):
    @pytest.fixture(params=QUICK)
    def make_policy(self, request: pytest.FixtureRequest) -> MakePolicy:
        return lambda: named(request.param)


class TestSlowPolicies(PolicyContract):
    budget = 6

    @pytest.fixture(params=SLOW)
    def make_policy(self, request: pytest.FixtureRequest) -> MakePolicy:
        return lambda: named(request.param)
