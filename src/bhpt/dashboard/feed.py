"""A study that is followed while a driver may be writing to it; nothing is locked or written."""

import time
from dataclasses import dataclass, field
from threading import Lock

from bhpt.charts.arms import Arms, arms_of
from bhpt.charts.decision import PastDecision, at_decision, explain
from bhpt.charts.fans import Fans, fans_of
from bhpt.charts.more_budget import MoreBudget, more_budget
from bhpt.charts.overview import Overview, overview_of
from bhpt.charts.parameters import Parameters, parameters_of
from bhpt.charts.units import Units, units_of
from bhpt.domain import Memory, Misuse
from bhpt.policies.study_predictor import predictor_named
from bhpt.reports.phase import Phase, interrupted_text, phase_of
from bhpt.reports.prediction import Interval, predict_study
from bhpt.reports.progress import progress_of
from bhpt.reports.worlds import is_spent
from bhpt.storage import Address, Lease, read_store
from bhpt.storage.gc_pause import without_gc
from bhpt.study import State
from bhpt.study.events import Decided, Event
from bhpt.study.folding import apply, start
from bhpt.views.formatting import EXHAUSTED

_KEPT_EVERY = 512  # events between two states that are kept, for looks at the past


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a study's predictor predicts.

    Attributes:
        attempts: How many attempts there were.
        final: The best value of the metric at the end of the budget; None if it is spent.
        fans: How arms go on, None if nothing is known.
    """

    attempts: int
    final: Interval | None
    fans: Fans | None


@dataclass(frozen=True, eq=False)
class Scene:
    """A followed study at one moment.

    Attributes:
        state: What its events fold to.
        phase: Whether it runs: "running", "held", "interrupted", "paused" or "done".
        phase_text: The same in words.
        over: Why it is done, in words; empty if it is not.
        overview: Where it stands.
        units: Every attempt.
        arms: Every arm that was tried.
    """

    state: State
    phase: Phase
    phase_text: str
    over: str
    overview: Overview
    units: Units
    arms: Arms


@dataclass
class StudyFeed:
    """Follows one study. Its methods may be called from any thread.

    Args:
        address: Where it is kept.
    """

    address: Address
    _lock: Lock = field(default_factory=Lock)
    _kept: dict[int, State] = field(default_factory=dict)  # by how many events they have
    _memory: Memory = field(default_factory=Memory)
    _lease: Lease | None = None
    _scene: Scene | None = None

    def __post_init__(self) -> None:
        """Open the study.

        Raises:
            Misuse: There is none, or it is damaged.
        """
        self._reader = read_store(self.address)
        self.poll()

    @property
    def name(self) -> str:
        """A short name for a person."""
        return self.address.study if self.address.file is None else self.address.file.name

    @property
    def scene(self) -> Scene:
        """The study as it was at the last poll."""
        if self._scene is None:
            raise Misuse(f"{self.address} is empty: it has not been created")
        return self._scene

    def poll(self) -> bool:
        """Read what is new; says whether anything is.

        Raises:
            Misuse: The study is damaged or cannot be reached.
        """
        with self._lock:
            state = None if self._scene is None else self._scene.state
            known = 0 if state is None else state.events
            lease = self._reader.lease()
            if self._reader.head().position == known and lease == self._lease:
                return False
            state = self._read_on(state, known)
            self._lease = lease
            self._scene = _scene(state, lease)
            return True

    def predict(self) -> Prediction:
        """What the study's predictor predicts now; this may take seconds."""
        state = self.scene.state
        predictor = predictor_named(state.plan.policy)
        memory = self._memory
        predicted = predict_study(state, predictor, memory)
        final = None if predicted is None else predicted.final.shown(state.plan.objective)
        return Prediction(len(state.attempts), final, fans_of(state, predictor, memory))

    def why(self, attempt: int) -> PastDecision:
        """Why an attempt was started.

        Raises:
            Misuse: There is no such attempt.
        """
        before = self.before(attempt)
        return explain(before, self.scene.state.attempts[attempt], Memory())

    def parameters(self) -> Parameters:
        """Importance and range hints of the hyper-parameters, from the tried arms."""
        state = self.scene.state
        predictor = predictor_named(state.plan.policy)
        return parameters_of(state, fans_of(state, predictor, self._memory))

    def more_budget(self) -> MoreBudget:
        """What more budget would buy.

        Raises:
            Misuse: Nothing finite was observed yet.
        """
        return more_budget(self.scene.state)

    def before(self, attempt: int) -> State:
        """The study at the moment at which an attempt was decided on.

        Raises:
            Misuse: There is no such attempt.
        """
        with self._lock:
            kept = [state for state in self._kept.values() if len(state.attempts) <= attempt]
            state = max(kept, key=lambda one: one.events, default=None)
            for event, _ in self._reader.stream(0 if state is None else state.events):
                if isinstance(event, Decided) and event.attempt == attempt and state is not None:
                    return at_decision(state, event)
                state = self._next(state, event)
        raise Misuse(f"the study has no attempt {attempt}")

    def close(self) -> None:
        """Let go of the study."""
        self._reader.close()

    def _read_on(self, state: State | None, known: int) -> State:
        """The study with what is new; the first time from its stored state on, if it has one."""
        if state is None:
            return self._reader.folded().state
        with without_gc():
            for event, _ in self._reader.stream(known):
                state = self._next(state, event)
        return state

    def _next(self, state: State | None, event: Event) -> State:
        """The state after one more event, kept now and then for looks at the past."""
        later = start(event) if state is None else apply(state, event)
        if later.events % _KEPT_EVERY == 0:
            self._kept.setdefault(later.events, later)
        return later


def _scene(state: State, lease: Lease) -> Scene:
    alive = False if lease.holder is None else lease.holder.is_alive()
    clock = max(state.clock, lease.clock) if alive else state.clock
    phase = phase_of(state, alive)
    over = _over(state) if phase == "done" else ""
    text = _phase_text(phase, over, state, lease)
    progress = progress_of(state, clock, lambda _: None)
    overview = overview_of(state, progress)
    return Scene(state, phase, text, over, overview, units_of(state), arms_of(state))


def _over(state: State) -> str:
    """Why a study is done."""
    if not is_spent(state):
        return EXHAUSTED
    return "what is left pays for no further unit" if state.can_pay else "the budget is spent"


def _phase_text(phase: Phase, over: str, state: State, lease: Lease) -> str:
    """Whether a study runs, in words."""
    left = state.ledger.budget.rules.text(state.ledger.left)
    texts: dict[Phase, str] = {
        "running": f"running, held by {lease.holder}",
        "held": f"held by {lease.holder}, which cannot be seen from here",
        "interrupted": interrupted_text(state),
        "paused": f"not running, {left} left",
        "done": f"done: {over}",
    }
    return texts[phase]


class Pace:
    """Computes when a costly operation is due again, so that it takes a bounded part of the time.

    Args:
        share: Of the time that looks may take.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._again_at = float("-inf")

    def is_due(self) -> bool:
        """Whether it is time for another look."""
        return time.monotonic() >= self._again_at

    def took(self, seconds: float) -> None:
        """Note what a look took."""
        self._again_at = time.monotonic() + seconds / self._share
