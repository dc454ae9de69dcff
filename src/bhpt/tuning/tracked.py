"""A study as trackers name it."""

from bhpt.spaces import infer_ranges
from bhpt.storage import Address
from bhpt.study import State
from bhpt.study.arm_list import ranges_of
from bhpt.trackers import TrackedStudy


def tracked_study(address: Address, identity: str, state: State) -> TrackedStudy:
    """The study at an address, named by its file or by its name on a server."""
    name = address.file.stem if address.file is not None else address.study
    space = state.plan.search.space
    ranges = infer_ranges(state.configs) if space is None else ranges_of(space)
    return TrackedStudy(name, identity, state.plan, ranges)
