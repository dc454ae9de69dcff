"""Which checkpoints to give up when they outgrow the disk cap."""

from collections.abc import Collection, Iterable, Mapping

from bhpt.checkpoints.checkpoint import Checkpoint


def plan_drops(
    held: Iterable[Checkpoint],
    likelihood_of_thaw: Mapping[int, float],
    cap: int,
    keep: Collection[int] = (),
) -> tuple[Checkpoint, ...]:
    """What to drop, in order, until the rest fits under the cap or only `keep` is left.

    Older generations go first: they only insure against damage. Then whole arms go, those that
    are least likely to be thawed first; they would be retrained at their true cost.

    Args:
        held: All committed checkpoints.
        likelihood_of_thaw: For each arm, any number that grows with the chance that it is thawed
            again; an arm that is not there counts as hopeless.
        cap: Bytes that may be kept.
        keep: Arms that are never touched: the best one and those that run.
    """
    checkpoints = tuple(held)
    newest = _newest(checkpoints)

    def order(one: Checkpoint) -> tuple[bool, float, int, int, int]:
        likely = likelihood_of_thaw.get(one.arm, float("-inf"))
        is_newest = one.generation == newest[one.arm]
        return is_newest, likely, -one.bytes, one.arm, one.generation

    excess = sum(one.bytes for one in checkpoints) - cap
    drops: list[Checkpoint] = []
    for one in sorted((one for one in checkpoints if one.arm not in keep), key=order):
        if excess <= 0:
            break
        if one.bytes > 0:
            drops.append(one)
            excess -= one.bytes
    return tuple(drops)


def _newest(checkpoints: Iterable[Checkpoint]) -> dict[int, int]:
    newest: dict[int, int] = {}
    for one in checkpoints:
        newest[one.arm] = max(one.generation, newest.get(one.arm, 0))
    return newest
