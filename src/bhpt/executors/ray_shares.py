"""Fair shares of a cluster: one small actor computes how many workers each driver may hold.

The first driver that needs it starts it, and it ends with that driver; then the next one starts
another.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bhpt.executors.fair_share import WorkerClaim, fair_shares

if TYPE_CHECKING:
    from ray import ObjectRef

_NAME, _NAMESPACE = "bhpt-shares", "bhpt"
_EVERY_S = 1.0  # between two questions
_GONE_S = 15.0  # a driver that has not asked for so long is gone


@dataclass(frozen=True, slots=True)
class _Known:
    claim: WorkerClaim
    seen: float


class ShareKeeper:
    """The actor: holds what every driver wants and what it has used."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def share(self, driver: str, wanted: int, held: int, needs: Mapping[str, float]) -> int | None:
        """How many workers a driver may hold; None for as many as it gets, if it is alone.

        Alone it may also wait for workers that no node has room for yet: that is how a cluster
        learns that it has to grow.
        """
        import ray

        now = time.monotonic()
        self._known = {d: k for d, k in self._known.items() if now - k.seen < _GONE_S}
        before = self._known.get(driver)
        used = 0.0 if before is None else before.claim.used + held * (now - before.seen)
        if before is None:  # who comes later has no right to what others had before
            used = min((known.claim.used for known in self._known.values()), default=0.0)
        self._known[driver] = _Known(WorkerClaim(wanted, dict(needs), used), now)
        if len(self._known) == 1:
            return None
        names = sorted(self._known)
        claims = [self._known[name].claim for name in names]
        shares = fair_shares(ray.cluster_resources(), claims)
        return shares[names.index(driver)]

    def leave(self, driver: str) -> None:
        """A driver is done."""
        self._known.pop(driver, None)


class Shares:
    """A driver's side of it: asks every few seconds, and keeps the last answer.

    Args:
        wanted: Workers that the driver would like to have.
        needs: What one of them takes of each resource.
    """

    def __init__(self, wanted: int, needs: Mapping[str, float]) -> None:
        self.allowed = wanted
        self._wanted = wanted
        self._needs = {name: need for name, need in needs.items() if need > 0}
        self._driver = secrets.token_hex(8)
        self._keeper: Any = None
        self._answer: ObjectRef[int | None] | None = None
        self._asked_at = float("-inf")

    def tend(self, held: int) -> None:
        """Take an answer that has come, and ask again when it is time."""
        import ray
        from ray.exceptions import RayError

        if self._answer is not None and ray.wait([self._answer], timeout=0)[0]:
            ref, self._answer = self._answer, None
            try:
                allowed = ray.get(ref)
                self.allowed = self._wanted if allowed is None else allowed
            except RayError:
                self._keeper = None  # its driver has left: make another one
        now = time.monotonic()
        if self._answer is None and now - self._asked_at >= _EVERY_S:
            self._asked_at = now
            keeper = self._found()
            self._answer = keeper.share.remote(self._driver, self._wanted, held, self._needs)

    def leave(self) -> None:
        """Leave the cluster to the others."""
        if self._keeper is not None:
            self._keeper.leave.remote(self._driver)

    def _found(self) -> Any:  # noqa: ANN401  # a handle, which Ray does not type
        import ray

        if self._keeper is None:
            self._keeper = (
                ray.remote(ShareKeeper)
                .options(name=_NAME, namespace=_NAMESPACE, get_if_exists=True, num_cpus=0)
                .remote()
            )
        return self._keeper
