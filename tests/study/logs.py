"""Logs of everything that can happen to a study, by a seed."""

import math
import random
from dataclasses import dataclass, field

from bhpt.domain.budget import Budget
from bhpt.domain.results import Saved
from bhpt.study import State, Training, decode_event, encode_event
from bhpt.study.creation import first_events
from bhpt.study.events import (
    ArmClosed,
    ArmsAdded,
    BudgetAdded,
    CheckpointDropped,
    Decided,
    Enqueued,
    Event,
    Extended,
    Failed,
    Noted,
    Observed,
    Outlook,
    Rejected,
    Restarted,
    SessionEnded,
    SessionStarted,
)
from bhpt.study.folding import apply, fold

_SPACE = {"x": (0.0, 1.0), "kind": ["a", "b"]}


@dataclass
class Happenings:
    """Makes events that a state allows, one after the other."""

    rng: random.Random
    state: State
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Make one happen, as it would be read from a log."""
        read = decode_event(encode_event(event))
        self.state = apply(self.state, read)
        self.events.append(read)

    @property
    def clock(self) -> float:
        """A little later than the last event."""
        return self.state.clock + self.rng.random()

    def decide(self) -> None:
        state, rng = self.state, self.rng
        arm = rng.randrange(len(state.configs))
        done = state.count(arm)
        busy = arm in state.open_arms or state.arm(arm).closed is not None
        if busy or done >= state.plan.training.epochs or len(state.open) >= 5:
            return
        epochs = min(rng.randint(1, 2), state.plan.training.epochs - done)
        outlook = (Outlook(arm, rng.random(), 0.1, math.nan),)
        seconds, worker = rng.choice([None, 1.5]), rng.choice([None, 1])
        self.add(Decided(len(state.attempts), arm, state.arm(arm).units, epochs, done, 1.0,
                         seconds, "why\n<é>", outlook, self.clock, worker))  # fmt: skip

    def report(self) -> None:
        if not self.state.open:
            return
        rng = self.rng
        attempt = self.state.attempts[rng.choice(self.state.open)]
        epochs = attempt.unit.epochs
        values = [rng.choice([rng.random(), rng.random(), math.nan, math.inf]) for _ in "ab"]
        losses = tuple(values[:epochs])
        units = self.state.arm(attempt.unit.arm).units
        saved = (
            Saved(units + 1, attempt.done + epochs, "d" * 64, 10) if rng.random() < 0.5 else None
        )
        metrics = ({"f1": math.nan, "loss": 0.5},) * epochs if rng.random() < 0.3 else ()
        self.add(Observed(attempt.number, losses, rng.choice([0.0, rng.random()]), 0.0,
                          rng.randint(0, 1), rng.random(), saved, self.clock, metrics))  # fmt: skip

    def fail(self) -> None:
        if self.state.open:
            kind = self.rng.choice(["crashed", "lost"])
            final = self.rng.random() < 0.1
            number = self.rng.choice(self.state.open)
            self.add(Failed(number, kind, "boom", "tail", 0.5, 0.5, final, self.clock))

    def change(self) -> None:
        """Whatever happens seldom."""
        state, rng = self.state, self.rng
        visited = [] if state.curves is None else state.curves.visited.tolist()
        arm = rng.choice(visited or [0])
        config = {"x": rng.random(), "kind": "a"}
        choices: list[Event] = [
            ArmsAdded((config,), "drawn", self.clock),
            Enqueued((arm,), self.clock),
            BudgetAdded(Budget(5.0), self.clock),
            Noted("a note", self.clock),
            Rejected(0, "late", (math.nan,), self.clock),
            SessionStarted("here", 1, rng.randint(1, 3), self.clock, "/x", "memory://y"),
            SessionEnded("done", self.clock),
        ]
        if visited:
            gone = rng.choice([None, *(one.generation for one in state.arm(arm).saved)])
            choices.append(CheckpointDropped(arm, gone, "cap", self.clock))
            choices.append(ArmsAdded((config,), "near", self.clock, (arm,)))
        if visited and rng.random() < 0.1:
            choices.append(ArmClosed(arm, "given up", self.clock))
        if state.open:
            number = rng.choice(state.open)
            choices.append(Extended(number, state.attempts[number].reserved + 0.5, self.clock))
            choices.append(Restarted(number, self.clock))
        self.add(rng.choice(choices))


def any_log(seed: int, steps: int, *, listed: bool = False) -> list[Event]:
    """A log in which so many things happen.

    Args:
        seed: Of what happens.
        steps: How many things are tried; some of them cannot be.
        listed: Whether configurations are listed rather than drawn from a space.
    """
    space: object = [{"x": place / 30, "kind": "a"} for place in range(30)] if listed else _SPACE
    training = Training(1, 60, grows=not listed)
    trainer: dict[str, object] | None = {"name": "any"} if seed % 2 else None
    made = first_events(
        space, Budget(10.0 * steps + 10), training=training, seed=seed, trainer=trainer
    )
    first = [decode_event(encode_event(event)) for event in made]
    happenings = Happenings(random.Random(seed), fold(first))
    for _ in range(steps):
        happenings.rng.choices(
            [happenings.decide, happenings.report, happenings.fail, happenings.change],
            weights=[10, 9, 1, 2],
        )[0]()
    return [*first, *happenings.events]
