"""Where units run on a Ray cluster, and what one of them needs there."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bhpt.domain.errors import Misuse


@dataclass(frozen=True, slots=True)
class Ray:
    """A Ray cluster and the resources of one worker.

    Attributes:
        address: Of the cluster: `auto` for the one of this machine, `HOST:6379`, `ray://…`, or
            `local` to start one here. None is what `RAY_ADDRESS` says, else `auto`, else `local`.
        num_cpus: Cores of a worker.
        num_gpus: GPUs of a worker, or a share of one.
        resources: Further resources of a worker, by their names in the cluster.
        shared_files: Whether the study's folder has the same path on every node: then checkpoints
            are written and read there instead of being sent through Ray.
        runtime_env: Ray's description of what a node must have, such as `{"working_dir": "."}` to
            bring the trainer's module along.
    """

    address: str | None = None
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)
    shared_files: bool = False
    runtime_env: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what no node could have."""
        for name, need in self.needs.items():
            if not (isinstance(need, int | float) and math.isfinite(need) and need >= 0):
                raise Misuse(f"a worker cannot need {need!r} of {name}: give a number from 0")
        if not any(self.needs.values()):
            raise Misuse("a worker must need something of a node: set num_cpus, such as 1")

    def with_gpus(self, gpus: float | None) -> "Ray":
        """The same for workers with so many GPUs; None for as many as they have."""
        return self if gpus is None else replace(self, num_gpus=gpus)

    @property
    def needs(self) -> dict[str, float]:
        """What a worker takes of a node, by Ray's names."""
        return {"CPU": self.num_cpus, "GPU": self.num_gpus, **self.resources}
