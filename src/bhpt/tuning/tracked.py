"""A study as trackers name it."""

from bhpt.storage import Address
from bhpt.study.plan import Plan
from bhpt.trackers import TrackedStudy


def tracked_study(address: Address, identity: str, plan: Plan) -> TrackedStudy:
    """The study at an address, named by its file or by its name on a server."""
    name = address.file.stem if address.file is not None else address.study
    return TrackedStudy(name, identity, plan)
