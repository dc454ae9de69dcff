"""Contract suites for parts that others write: policies, event logs, trainers.

Each suite is a class of tests. Subclass it in a test module, override its fixtures, and pytest
runs the whole contract over your part:

    from bhpt.testing import PolicyContract

    class TestMyPolicy(PolicyContract):
        @pytest.fixture
        def make_policy(self):
            return MyPolicy

The suites need pytest, which is not a dependency of the package: `pip install bhpt[testing]`.
"""

try:
    import pytest
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "bhpt.testing needs pytest: pip install 'bhpt[testing]'", name="pytest"
    ) from error

# before the suites are imported, so that a failing `assert` of theirs shows its values
pytest.register_assert_rewrite(
    "bhpt.testing.event_logs", "bhpt.testing.policies", "bhpt.testing.trainers"
)

from bhpt.testing.event_logs import EventLogContract, LogPlace  # noqa: E402
from bhpt.testing.policies import PolicyContract  # noqa: E402
from bhpt.testing.trainers import TrainerContract  # noqa: E402

__all__ = ["EventLogContract", "LogPlace", "PolicyContract", "TrainerContract"]
