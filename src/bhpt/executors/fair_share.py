"""How several studies share one cluster: dominant resource fairness.

n drivers, r resources. Each driver i wants at most w_i workers, and one of its workers needs
d_i,r of each resource, of which the cluster has R_r. A worker's dominant share is
max_r d_i,r / R_r. Workers are handed out one by one, always to the driver whose workers together
have the least dominant share, as long as they fit. So nobody can gain by asking for more, and what
one leaves is for the others. (Ghodsi et al., Dominant Resource Fairness, NSDI 2011.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class WorkerClaim:
    """What a driver would like to have.

    Attributes:
        workers: At most so many.
        needs: What one of them takes of each resource.
        used: What it had so far, in any unit that is the same for all: who had least is first
            where shares are equal.
    """

    workers: int
    needs: Mapping[str, float]
    used: float = 0.0


def fair_shares(totals: Mapping[str, float], claims: Sequence[WorkerClaim]) -> list[int]:
    """How many workers each claim gets of a cluster with these totals."""
    left = dict(totals)
    given = [0] * len(claims)
    dominant = [_dominant_share(totals, claim) for claim in claims]
    open_ = {i for i, claim in enumerate(claims) if claim.workers > 0}
    while open_:
        first = min(open_, key=lambda i: (given[i] * dominant[i], claims[i].used, i))
        needs = claims[first].needs
        if any(left.get(name, 0.0) < need - _ROUNDING for name, need in needs.items()):
            open_.discard(first)
            continue
        for name, need in needs.items():
            left[name] = left.get(name, 0.0) - need
        given[first] += 1
        if given[first] >= claims[first].workers:
            open_.discard(first)
    return given


def _dominant_share(totals: Mapping[str, float], claim: WorkerClaim) -> float:
    """The largest part of any resource that one worker takes; infinite if there is none of it."""
    parts = [
        need / totals[name] if totals.get(name, 0.0) > 0 else float("inf")
        for name, need in claim.needs.items()
        if need > 0
    ]
    return max(parts, default=0.0)
