"""How a session runs: options whose defaults suit nearly everyone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bhpt.domain import Misuse
from bhpt.domain.arguments import number, refuse_other_than, whole_number


@dataclass(frozen=True, slots=True)
class Options:
    """How a session runs; none of it changes what is decided.

    Attributes:
        grace_s: Between asking a running unit to end and killing it.
        checkpoint_cap: Bytes of checkpoints that may be kept, None for no limit; what is least
            likely to be thawed is dropped first.
        tick_s: How often running units are looked after.
        beat_s: How often a sign of life is written to the store.
        look_s: How often `watch` is called.
        patience_s: How long to wait for a store that is locked, or a server that is away, when
            there is nothing else to do; then the session pauses.
        start_limit_s: How long the import of the trainer may take; never longer than the budget
            lasts.
        gpus_per_worker: GPUs of each local worker: whole ones of its own, or a fraction of one
            that it shares; None if every worker sees all.
        threads_per_worker: Threads for numerical libraries in each local worker; None for its
            share of the cores, unless the environment says otherwise.
        variables: Further variables for the environment of local workers.
        checkpoints: An fsspec path such as `s3://bucket/team` under which the study's checkpoints
            lie, each study in a folder of its own there; None for the study's local folder, or
            for where they lay in the sessions before.
    """

    grace_s: float = 5.0
    checkpoint_cap: int | None = None
    tick_s: float = 0.5
    beat_s: float = 2.0
    look_s: float = 0.2
    patience_s: float = 120.0
    start_limit_s: float = 300.0
    gpus_per_worker: float | None = None
    threads_per_worker: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    checkpoints: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could not work."""
        for name in ("grace_s", "tick_s", "beat_s", "look_s", "patience_s", "start_limit_s"):
            number(name, getattr(self, name))
        if not (math.isfinite(self.grace_s) and self.grace_s >= 0):
            raise Misuse(f"grace must be a number of seconds from 0, not {self.grace_s}")
        if not self.patience_s >= 0:
            raise Misuse(f"patience must be a number of seconds from 0, not {self.patience_s}")
        steps = (self.tick_s, self.beat_s, self.look_s, self.start_limit_s)
        if not all(step > 0 for step in steps) or not math.isfinite(self.tick_s):
            raise Misuse("tick, beat, look and the limit of the start must be above 0 seconds")
        if (
            self.checkpoint_cap is not None
            and whole_number("checkpoint_cap", self.checkpoint_cap) < 1
        ):
            raise Misuse(f"the cap on checkpoints must be above 0 bytes, not {self.checkpoint_cap}")
        threads = self.threads_per_worker
        if threads is not None and whole_number("threads_per_worker", threads) < 1:
            raise Misuse(f"a worker needs at least one thread, not {threads}")
        if self.gpus_per_worker is not None:
            number("gpus_per_worker", self.gpus_per_worker)
        if self.checkpoints is not None:
            refuse_other_than("checkpoints", self.checkpoints, str, "'s3://bucket/team'")
        _refuse_other_variables(self.variables)


def _refuse_other_variables(variables: Mapping[str, str]) -> None:
    """Refuse what no environment can hold.

    Raises:
        Misuse: It is no mapping of texts to texts.
    """
    refuse_other_than("variables", variables, Mapping, "{'NAME': 'text'}")
    for name, value in variables.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise Misuse(
                f"variables are texts, such as {{'NAME': 'text'}}, not {name!r}: {value!r:.40}"
            )
