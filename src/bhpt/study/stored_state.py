"""The state of a study as bytes, so that reading a long log need not fold all of it.

A stored state is a cache and nothing more: whoever keeps one beside a log notes which events it
was folded from, and reads the log where it does not fit. It is JSON, compressed; what is read can
only be one of our values.

Notation:
    K  arms, V  visited arms, N  reported units.
"""

import json
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from types import MappingProxyType

import numpy as np

from bhpt.domain import Curves, Misuse
from bhpt.domain.budget import Budget
from bhpt.domain.ledger import Ledger
from bhpt.spaces import Config
from bhpt.study.arm_list import ArmList
from bhpt.study.attempts import Attempt, AttemptList, AttemptPack
from bhpt.study.codec import compressed, decompressed, from_plain, to_plain
from bhpt.study.events import SessionStarted
from bhpt.study.plan import Plan
from bhpt.study.state import Best, Child, State
from bhpt.study.tried_arms import Arm, TriedArms
from bhpt.study.unit_size import ReportedUnit

VERSION = 2
"""Of what is stored. Raise it when a field of the state or a rule of the fold changes."""


class Unreadable(Exception):
    """Bytes that are no stored state of this version."""


@dataclass(frozen=True, slots=True)
class _Observed:
    """The curves as columns.

    Attributes:
        visited: Arm of each row, [V].
        counts: Observed epochs of each row, [V].
        rows: Row of each report, [N].
        epochs: Epochs of each report, [N].
        losses: Row after row, [sum of counts].
    """

    visited: tuple[int, ...]
    counts: tuple[int, ...]
    rows: tuple[int, ...]
    epochs: tuple[int, ...]
    losses: tuple[float, ...]

    @classmethod
    def of(cls, curves: Curves) -> "_Observed":
        observed = curves.losses[:, : curves.longest][curves.observed]
        return cls(
            tuple(curves.visited.tolist()),
            tuple(curves.counts.tolist()),
            tuple(curves.reports[:, 0].tolist()),
            tuple(curves.reports[:, 1].tolist()),
            tuple(observed.tolist()),
        )

    def curves(self, arms: int, epochs: int) -> Curves:
        """The same as curves of K arms."""
        counts = np.array(self.counts, np.int64)
        losses = np.zeros((len(counts), epochs))
        losses[np.arange(epochs)[None, :] < counts[:, None]] = self.losses
        return Curves(
            arms=arms,
            epochs=epochs,
            visited=np.array(self.visited, np.int64),
            losses=losses,
            counts=counts,
            reports=np.column_stack([self.rows, self.epochs]).astype(np.int64).reshape(-1, 2),
        )


@dataclass(frozen=True, slots=True)
class _Tried:
    """The tried arms as columns.

    Attributes:
        arms: In the order of first trial, [V].
        known: What is known of each, [V].
        reported: The arms that reported last, the latest at the end.
        timed: The arms that were timed last, the latest at the end.
    """

    arms: tuple[int, ...]
    known: tuple[Arm, ...]
    reported: tuple[int, ...]
    timed: tuple[int, ...]

    @classmethod
    def of(cls, tried: TriedArms) -> "_Tried":
        latest = tuple(tried.latest_arms.tolist())
        return cls(tuple(tried), tuple(tried.values()), latest, tried.latest_timed)

    def tried(self) -> TriedArms:
        """The same as a mapping."""
        known = dict(zip(self.arms, self.known, strict=True))
        return TriedArms.in_order(known, self.reported, self.timed)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A state as plain values, without its plan and its packed attempts; see `State`."""

    budget: Budget
    spent: float
    clock: float
    promised_to: tuple[int, ...]
    promised: tuple[float, ...]
    configs: tuple[Config, ...]
    observed: _Observed | None
    attempts: tuple[Attempt, ...]
    open: tuple[int, ...]
    open_arms: tuple[int, ...]
    tried: _Tried
    failures: int
    longest_s: float | None
    best: Best | None
    batches: int
    children: tuple[Child, ...]
    first_arms: int
    queue: tuple[int, ...]
    session: SessionStarted | None
    unit: int
    recent: tuple[ReportedUnit, ...]
    session_from: int
    checkpoints_at: str
    events: int

    @classmethod
    def of(cls, state: State) -> "_Stored":
        ledger = state.ledger
        return cls(
            budget=ledger.budget,
            spent=ledger.spent,
            clock=ledger.clock,
            promised_to=tuple(ledger.promised),
            promised=tuple(ledger.promised.values()),
            configs=tuple(state.configs),
            observed=None if state.curves is None else _Observed.of(state.curves),
            attempts=tuple(state.attempts.later),
            open=state.open,
            open_arms=state.open_arms,
            tried=_Tried.of(state.tried),
            failures=state.failures,
            longest_s=state.longest_s,
            best=state.best,
            batches=state.batches,
            children=state.children,
            first_arms=state.first_arms,
            queue=state.queue,
            session=state.session,
            unit=state.unit,
            recent=state.recent,
            session_from=state.session_from,
            checkpoints_at=state.checkpoints_at,
            events=state.events,
        )

    def state(self, plan: Plan, packs: tuple[AttemptPack, ...]) -> State:
        """The same as a state of a study with this plan."""
        promised = MappingProxyType(dict(zip(self.promised_to, self.promised, strict=True)))
        arms, curves = None, None
        if self.observed is not None:
            arms = ArmList.of(plan.search.space, self.configs, plan.earlier)
            curves = self.observed.curves(len(arms), plan.training.epochs)
        return State(
            plan=plan,
            ledger=Ledger(self.budget, self.spent, self.clock, promised),
            arms=arms,
            curves=curves,
            attempts=AttemptList(packs, self.attempts),
            open=self.open,
            open_arms=self.open_arms,
            tried=self.tried.tried(),
            failures=self.failures,
            longest_s=self.longest_s,
            best=self.best,
            batches=self.batches,
            children=self.children,
            first_arms=self.first_arms,
            queue=self.queue,
            session=self.session,
            unit=self.unit,
            recent=self.recent,
            session_from=self.session_from,
            checkpoints_at=self.checkpoints_at,
            events=self.events,
        )


def with_packs(state: State) -> State:
    """The same state: attempts that have ended are packed, as far as whole packs are full of them.

    Those that are packed already stay as they are.
    """
    ended = min(state.open, default=len(state.attempts))
    return replace(state, attempts=state.attempts.packed(ended))


def encode_state(state: State) -> bytes:
    """A state as bytes: a line with the lengths of the parts, then the parts.

    Args:
        state: The study; best `with_packs`.
    """
    own = compressed(to_plain(_Stored.of(state)))
    parts = [own, *(one.data for one in state.attempts.packs)]
    return b"\n".join([json.dumps([len(part) for part in parts]).encode(), b"".join(parts)])


def decode_state(data: bytes, plan: Plan) -> State:
    """The state of a study with this plan from what `encode_state` made of it.

    Raises:
        Unreadable: The bytes are something else.
    """
    try:
        line, _, rest = data.partition(b"\n")
        ends = [*accumulate(json.loads(line), initial=0)]
        parts = [rest[start:end] for start, end in pairwise(ends)]
        if ends[-1] != len(rest):
            raise ValueError("it is cut short")
        stored: _Stored = from_plain(_Stored, decompressed(parts[0]))
        return stored.state(plan, tuple(map(AttemptPack, parts[1:])))
    except (ValueError, TypeError, KeyError, IndexError, Misuse) as error:
        raise Unreadable(str(error)) from error
