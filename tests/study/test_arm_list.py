"""Arms that are added batch by batch are the arms that are added at once."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.spaces import Space, encode_configs, encode_tokens, infer_ranges
from bhpt.study.arm_list import ArmList

_SPACE = Space.of({"lr": (1e-5, 10.0, "log"), "gamma": (0.0, 2.0), "opt": ["adam", "sgd"]})
_CONFIG = st.fixed_dictionaries(
    {
        "lr": st.sampled_from([1e-5, 1e-3, 0.1, 10.0]),
        "gamma": st.sampled_from([0.0, 0.1, 0.6, 0.99, 1.0, 1.5, 2.0]),
        "opt": st.sampled_from(["adam", "sgd"]),
    }
)
_BATCHES = st.lists(st.lists(_CONFIG, min_size=1, max_size=4), min_size=1, max_size=6)


@given(_BATCHES, st.booleans(), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=80)
def test_batches_equal_all_at_once(
    batches: list[list[dict[str, object]]], declared: bool, looks: bool, latest_first: bool
) -> None:
    """Ranges of a list may change with new values: then they change for all arms."""
    space = _SPACE.text if declared else None
    arms, configs = ArmList.of(space, batches[0]), list(batches[0])
    lists = [(arms, list(configs))]
    for batch in batches[1:]:
        if looks:  # what is worked out early must not differ from what is worked out late
            assert len(arms.features) == len(arms.tokens) == len(configs)
        arms = arms.plus(batch)
        configs += batch
        lists.append((arms, list(configs)))
    if latest_first:
        lists.reverse()
    for made, whole in lists:
        wanted = _SPACE.encode(whole) if declared else encode_configs(whole)
        np.testing.assert_array_equal(made.features, wanted)
        ranges = _SPACE.ranges if declared else infer_ranges(whole)
        np.testing.assert_array_equal(made.tokens, encode_tokens(whole, ranges))
        assert made.configs == whole
        assert all(made.has(config) for config in whole)


def test_what_is_added_later_is_not_there_yet() -> None:
    first = ArmList.of(None, [{"x": 1.0}])
    one, other = first.plus([{"x": 2.0}]), first.plus([{"x": 3.0}])
    assert one.has({"x": 2.0})
    assert not one.has({"x": 3.0})
    assert other.has({"x": 3.0})
    assert not other.has({"x": 2.0})
    assert not first.has({"x": 2.0})
    assert len(first) == 1
