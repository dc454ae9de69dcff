"""The predictor of a study by the name of its policy."""

import pytest

from bhpt.policies.registry import make_policy, names
from bhpt.policies.study_predictor import predictor_named, predictor_of


@pytest.mark.parametrize("name", [*names(), "an object without a name"])
def test_it_is_that_of_the_policy(name: str) -> None:
    policy = make_policy(name) if name in names() else None
    known, found = predictor_of(policy), predictor_named(name)
    assert type(found) is type(known)
    assert vars(found).get("weights") == vars(known).get("weights")
