"""Contract suites for what others write: policies, predictors, budgets, logs, executors, and more.

Each suite is a class of tests. Subclass it in a test module, override its fixtures, and pytest
runs the whole contract over your part:

    from bhpt.testing import PolicyContract

    class TestMyPolicy(PolicyContract):
        @pytest.fixture
        def make_policy(self):
            return MyPolicy

The suites need pytest, which is not a dependency of the package: `pip install bhpt[testing]`. They
are imported when they are first used, so that workers can import a trainer from here without it.
"""

import sys
from typing import TYPE_CHECKING

from bhpt.lazy_names import lazy_names

if TYPE_CHECKING:
    from bhpt.testing.budgets import BudgetContract
    from bhpt.testing.checkpoint_places import CheckpointPlaceContract
    from bhpt.testing.event_logs import EventLogContract, LogPlace
    from bhpt.testing.executors import ExecutorContract, ExecutorWorld
    from bhpt.testing.policies import PolicyContract
    from bhpt.testing.predictors import PredictorContract
    from bhpt.testing.stores import StoreContract
    from bhpt.testing.trackers import TrackerContract
    from bhpt.testing.trainers import TrainerContract

__all__ = [
    "BudgetContract",
    "CheckpointPlaceContract",
    "EventLogContract",
    "ExecutorContract",
    "ExecutorWorld",
    "LogPlace",
    "PolicyContract",
    "PredictorContract",
    "StoreContract",
    "TrackerContract",
    "TrainerContract",
]

_HOMES = {
    "BudgetContract": "bhpt.testing.budgets",
    "CheckpointPlaceContract": "bhpt.testing.checkpoint_places",
    "EventLogContract": "bhpt.testing.event_logs",
    "ExecutorContract": "bhpt.testing.executors",
    "ExecutorWorld": "bhpt.testing.executors",
    "LogPlace": "bhpt.testing.event_logs",
    "PolicyContract": "bhpt.testing.policies",
    "PredictorContract": "bhpt.testing.predictors",
    "StoreContract": "bhpt.testing.stores",
    "TrackerContract": "bhpt.testing.trackers",
    "TrainerContract": "bhpt.testing.trainers",
}

if "pytest" in sys.modules:
    import pytest

    # before the suites are imported, so that a failing `assert` of theirs shows its values
    pytest.register_assert_rewrite(*set(_HOMES.values()))

if not TYPE_CHECKING:
    _find = lazy_names(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        try:
            return _find(name)
        except ModuleNotFoundError as error:
            if error.name != "pytest":
                raise
            wanted = "the contract suites need pytest: pip install 'bhpt[testing]'"
            raise ModuleNotFoundError(wanted, name=error.name) from None
