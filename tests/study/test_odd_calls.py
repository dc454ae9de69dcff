"""Whatever ask and tell is called with: one clear line, or a log that can be read again."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bhpt
from bhpt.domain import Misuse, View
from bhpt.policies.interface import Decision, Explanation
from bhpt.study import MemoryLog, State, Training, decode_event, encode_event, fold
from bhpt.study.attempts import Attempt
from bhpt.study.codec import to_plain
from bhpt.study.events import Event

_SPACE = {"x": (0.0, 1.0)}
_LISTED = [{"x": 0.2}, {"x": 0.5}, {"x": 0.7}]
_NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.floats(width=32).map(np.float32),
    st.integers(-5, 5).map(np.int64),
)
_ODD = st.one_of(_NUMBERS, st.none(), st.booleans(), st.text(max_size=3), st.just(1j))
_REPORTS = st.one_of(
    _ODD, st.lists(_ODD, max_size=2), st.dictionaries(st.sampled_from(["loss", "acc", 3]), _ODD)
)
Call = Callable[[bhpt.Study, bhpt.AskedUnit], object]


class CodedLog(MemoryLog):
    """A log in memory whose every event is written and read as in a store."""

    def append(self, events: Sequence[Event], expected: int) -> None:
        super().append([decode_event(encode_event(event)) for event in events], expected)


def _study(**more: object) -> bhpt.Study:
    given = {"policy": "random", "keep": CodedLog, **more}
    return bhpt.Study(_LISTED, "4 epochs", **given)  # type: ignore[arg-type]


def _asked(study: bhpt.Study) -> bhpt.AskedUnit:
    unit = study.ask()
    assert unit is not None
    return unit


def _called(call: Call) -> State:
    """The study after a call with a unit of its own: refused and as it was, or written and read."""
    study = _study()
    unit, before = _asked(study), study.state
    try:
        call(study, unit)
    except Misuse as error:
        assert study.state is before
        lines = str(error).splitlines()
    else:
        assert study.state.attempts[0].status != "open"
        lines = ["told"]
    assert len(lines) == 1
    assert _is_readable(study)
    return study.state


def _is_readable(study: bhpt.Study) -> bool:
    """Whether its log folds to the state that it has."""
    again = fold(study._journal._log.read())
    same = again.ledger == study.state.ledger and again.events == study.state.events
    return same and _plain(again.attempts) == _plain(study.state.attempts)


def _plain(attempts: Sequence[Attempt]) -> list[object]:
    """Attempts as they are stored: NaN is a text there, and equals itself."""
    return [to_plain(one) for one in attempts]


@settings(deadline=None, max_examples=150)
@given(_REPORTS, st.none() | _ODD)
def test_whatever_is_told_is_refused_or_can_be_read(losses: object, seconds: object) -> None:
    state = _called(lambda study, unit: study.tell(unit, losses, seconds))  # type: ignore[arg-type]
    assert state.failures == 0


@settings(deadline=None)
@given(_ODD, st.none() | _ODD)
def test_whatever_has_failed_is_refused_or_can_be_read(message: object, seconds: object) -> None:
    state = _called(lambda study, unit: study.fail(unit, message, seconds))  # type: ignore[arg-type]
    assert state.reports == 0


@pytest.mark.parametrize("message", [None, ValueError("out of memory"), b"x"])
def test_a_failure_is_told_in_words(message: object) -> None:
    study = _study()
    unit = _asked(study)
    with pytest.raises(Misuse, match="message is something like 'out of memory', not "):
        study.fail(unit, message)  # type: ignore[arg-type]
    study.fail(unit, "out of memory")
    assert study.state.attempts[0].message == "out of memory"


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, "3", True])
@pytest.mark.parametrize(
    "call",
    [
        lambda study, unit, seconds: study.tell(unit, 0.5, seconds),
        lambda study, unit, seconds: study.fail(unit, "no", seconds),
    ],
    ids=["tell", "fail"],
)
def test_the_time_that_a_unit_took_is_a_time(call: Callable[..., object], seconds: object) -> None:
    study = _study()
    unit = _asked(study)
    with pytest.raises(Misuse, match=r"^seconds is "):
        call(study, unit, seconds)
    assert study.in_flight == (unit,)


@pytest.mark.parametrize("seconds", [np.float32(1.5), np.int64(2), 3])
def test_times_of_numpy_are_stored(seconds: float) -> None:
    study = _study()
    study.tell(_asked(study), 0.5, seconds)
    assert study.state.attempts[0].seconds == seconds
    assert _is_readable(study)


class Choosing:
    """A policy that answers with whatever a function makes of the number of arms."""

    def __init__(self, answer: Callable[[int], object]) -> None:
        self.answer = answer

    def decide(self, view: View) -> Decision | None:
        given = self.answer(view.arms)
        if isinstance(given, str):
            return given  # type: ignore[return-value]
        return Decision(given, Explanation.in_words("said so", view.arms))  # type: ignore[arg-type]


def test_a_policy_may_choose_with_numpy() -> None:
    study = _study(policy=Choosing(lambda arms: np.argmax(np.arange(arms))))
    unit = _asked(study)
    assert (unit.arm, type(unit.arm)) == (len(study.state.configs) - 1, int)
    assert _is_readable(study)


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (lambda _: 1.0, "the arm of a decision is a whole number, not 1.0"),
        (lambda _: True, "the arm of a decision is a whole number, not True"),
        (lambda _: None, "the arm of a decision is a whole number, not None"),
        (lambda arms: arms, "which cannot be trained now"),
        (lambda _: "arm 3", "the decision of a policy is something like Decision"),
    ],
)
def test_what_a_policy_cannot_decide_is_one_clear_line(
    answer: Callable[[int], object], match: str
) -> None:
    study = _study(policy=Choosing(answer))
    with pytest.raises(Misuse, match=match):
        study.ask()
    assert not study.state.attempts
    assert _is_readable(study)


@pytest.mark.parametrize(
    "call",
    [
        lambda study, _: study.ask(),
        lambda study, unit: study.tell(unit, 0.5),
        lambda study, unit: study.fail(unit, "no"),
        lambda study, unit: study.start_over(unit),
        lambda study, _: study.enqueue({"x": 0.5}),
        lambda study, _: study.add_budget("2 epochs"),
    ],
    ids=["ask", "tell", "fail", "start_over", "enqueue", "add_budget"],
)
def test_a_closed_study_writes_no_more(tmp_path: Path, call: Call) -> None:
    file = tmp_path / "s.db"
    study = _study(keep=bhpt.stored(file))
    unit = _asked(study)
    study.close()
    study.close()  # as a `with` block does after an own call
    events = study.state.events
    with bhpt.open_study(file) as other:  # which holds it now
        with pytest.raises(Misuse, match="the study is closed: open it again with"):
            call(study, unit)
        assert other.state.events == events + 1
        assert other.tell(unit, 0.5) == "accepted"


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"unit": 1.5}, "unit is a whole number, not 1.5"),
        ({"unit": 0}, "a unit is at least one epoch, not 0"),
        ({"epochs": "10"}, "epochs is a whole number, not '10'"),
        ({"step": None}, "step is a whole number, not None"),
        ({"retries": 0.5}, "retries is a whole number, not 0.5"),
        ({"untrained": "1"}, "untrained is a number, not '1'"),
        ({"limit_s": "60s"}, "limit_s is a number, not '60s'"),
    ],
)
def test_a_training_that_could_not_be_read_back_is_not_made(
    given: dict[str, object], match: str
) -> None:
    with pytest.raises(Misuse, match=match):
        Training(**given)  # type: ignore[arg-type]


def test_a_training_of_numpy_s_numbers_is_made_of_plain_ones() -> None:
    made = Training(unit=np.int64(2), epochs=np.int32(8), untrained=np.float32(0.5))  # type: ignore[arg-type]
    assert made == Training(unit=2, epochs=8, untrained=0.5)
    assert [type(one) for one in (made.unit, made.epochs, made.untrained)] == [int, int, float]
    study = _study(untrained=np.float32(0.5))
    assert _is_readable(study)


def test_money_has_a_price_with_ask_and_tell_too() -> None:
    with pytest.raises(Misuse, match=r"give price_per_hour \(--price-per-hour\), or bhpt\.Budget"):
        bhpt.Study(_SPACE, "$5")
    study = bhpt.Study(_SPACE, "$5", price_per_hour=3600.0, policy="random")
    study.tell(_asked(study), 0.5, seconds=2.0)
    assert study.state.ledger.left == pytest.approx(3.0)


def test_a_space_without_hyper_parameters_is_refused() -> None:
    with pytest.raises(Misuse, match="the configurations are empty: name at least one"):
        bhpt.Study([{}, {}], "4 epochs")


def test_a_configuration_that_lacks_a_value_is_told_which() -> None:
    space = {"x": (0.0, 1.0), "y": {"choices": ["a", "b"]}}
    study = bhpt.Study(space, "4 epochs", policy="random")
    with pytest.raises(Misuse, match=r"configuration \{'x': 0.5\} lacks 'y': give it a value"):
        study.enqueue({"x": 0.5})


@pytest.mark.parametrize("end", [2**63 - 1, 2**63, 10**30])
def test_whole_numbers_beyond_numpy_s_are_refused(end: int) -> None:
    with pytest.raises(Misuse, match="hyper-parameter 'x': whole numbers end at"):
        bhpt.Study({"x": (1, end)}, "4 epochs")
    assert _asked(bhpt.Study({"x": (1, 2**62)}, "4 epochs", policy="random")).config["x"] >= 1


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-40, 40), min_size=1, max_size=12))
def test_a_clock_that_goes_back_gives_no_time_back(steps: list[float]) -> None:
    now, used = [0.0], 0.0
    log = CodedLog(bhpt.Study(_LISTED, "100s", policy="random")._journal._log.read())
    study = bhpt.Study.resume(log, "random", clock=lambda: now[0])
    for step in steps:
        now[0] += step
        unit = study.ask()
        if unit is not None:
            now[0] -= step / 2
            study.tell(unit, 0.5)
        ledger = study.state.ledger
        assert ledger.used >= used
        assert ledger.spent == pytest.approx(sum(one.cost for one in study.state.attempts))
        assert all(attempt.seconds >= 0 for attempt in study.state.attempts)
        used = ledger.used
    if used >= 100.0:
        assert study.ask() is None
    assert _is_readable(study)
