"""The state of a study from its file, address or object."""

from pathlib import Path

from bhpt.charts.decision import PastDecision, at_decision, explain, logged_decision
from bhpt.charts.fans import Fans, fans_of
from bhpt.domain import Memory, Misuse
from bhpt.domain.arguments import whole_number
from bhpt.policies.study_predictor import predictor_named
from bhpt.storage import Reader, read_store
from bhpt.study import State, Study
from bhpt.study.events import Decided
from bhpt.study.folding import apply, start
from bhpt.tuning.result import Result

StudySource = str | Path | Study | Result | State
"""A study: its file or address, or what `tune` or `Study` gave."""


def state_of(study: StudySource) -> State:
    """The state of a study.

    Raises:
        Misuse: There is no such study.
    """
    if isinstance(study, State):
        return study
    if isinstance(study, Study | Result):
        return study.state
    with read_store(study) as reader:
        return reader.folded().state


def name_of(study: StudySource) -> str:
    """A short name of a study, for a legend."""
    if isinstance(study, Result):
        return Path(study.study).name
    return Path(study).name if isinstance(study, str | Path) else "study"


def predicted_fans(state: State) -> Fans | None:
    """What the study's predictor says of its arms, None if nothing is known."""
    return fans_of(state, predictor_named(state.plan.policy), Memory())


def past_decision(study: StudySource, attempt: int | None) -> PastDecision:
    """Why an attempt was started: the last one if none is named.

    Where the study is kept, what was predicted of every arm is computed again; of a study in
    memory only what its log keeps is returned.

    Raises:
        Misuse: There is no such attempt.
    """
    state = state_of(study)
    if not state.attempts:
        raise Misuse("no unit of the study was started yet: there is no decision to show")
    number = len(state.attempts) - 1 if attempt is None else whole_number("attempt", attempt)
    if not 0 <= number < len(state.attempts):
        raise Misuse(f"the study has no attempt {number}: it has {len(state.attempts)}")
    where = study.study if isinstance(study, Result) else study
    if not isinstance(where, str | Path):
        return logged_decision(state, state.attempts[number])
    with read_store(where) as reader:
        return explain(_before(reader, number), state.attempts[number], Memory())


def _before(reader: Reader, attempt: int) -> State:
    """The state at the moment at which an attempt was decided on."""
    state: State | None = None
    for event, _ in reader.stream():
        if state is not None and isinstance(event, Decided) and event.attempt == attempt:
            return at_decision(state, event)
        state = start(event) if state is None else apply(state, event)
    raise Misuse(f"the study has no attempt {attempt}")
