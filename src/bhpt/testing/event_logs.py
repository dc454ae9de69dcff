"""What every event log promises: what is appended is there, in order, whole and once."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from bhpt.domain.budget import Budget
from bhpt.study import Conflict, EventLog, Plan, Study, fold
from bhpt.study.events import ArmsAdded, Event, Noted, Observed, StudyCreated

FIRST: tuple[Event, ...] = (
    StudyCreated(Plan(Budget(20))),
    ArmsAdded(({"x": 1, "name": "<script>é\x00\ud800../'"}, {"x": 2}), "listed"),
)
"""The first events of a study; its configurations hold text that careless stores damage."""

_CONFIGS = [{"x": value / 10} for value in range(11)]


def notes(*texts: str, clock: float = 1.0) -> list[Event]:
    """Events that may follow any others."""
    return [Noted(text, clock) for text in texts]


@dataclass(frozen=True)
class LogPlace:
    """A place for one log, where there is none yet.

    Attributes:
        create: Makes the log there from its first events.
        reopen: Opens it again after it was closed.
    """

    create: Callable[[Sequence[Event]], EventLog]
    reopen: Callable[[], EventLog]


class EventLogContract:
    """Tests of an `EventLog`. Override the fixture `place`."""

    @pytest.fixture
    def place(self) -> LogPlace:
        """A new, empty place for each test."""
        raise NotImplementedError("override the fixture `place`")

    def test_what_is_appended_is_read_back(self, place: LogPlace) -> None:
        """Also losses that are no numbers and text that is no valid UTF-8."""
        odd = Observed(0, (math.inf, 0.5), 1.0, 0.0, 0, 1.0, None, 2.0)
        log = place.create(FIRST)
        log.append(notes("a", "b"), 2)
        log.append([odd], 4)
        assert log.read() == [*FIRST, *notes("a", "b"), odd]
        assert log.read(after=3) == [*notes("b"), odd]
        assert log.read(after=5) == []
        log.close()

    def test_a_closed_log_can_be_opened_again(self, place: LogPlace) -> None:
        """With everything that was appended; appending goes on after it."""
        log = place.create(FIRST)
        log.append(notes("a"), 2)
        log.close()
        log = place.reopen()
        log.append(notes("b"), 3)
        assert log.read() == [*FIRST, *notes("a", "b")]
        log.close()

    def test_a_writer_with_an_old_position_is_refused(self, place: LogPlace) -> None:
        """Two writers cannot both append after the same event."""
        log = place.create(FIRST)
        log.append(notes("a"), 2)
        for expected in (1, 2, 4, 9):
            with pytest.raises(Conflict):
                log.append(notes("b"), expected)
        assert log.read(after=2) == notes("a")
        log.close()

    def test_an_append_is_all_or_nothing(self, place: LogPlace) -> None:
        """Nothing of a refused append is written, not even events that are there already."""
        log = place.create(FIRST)
        log.append(notes("a"), 2)
        with pytest.raises(Conflict):
            log.append(notes("a", "b"), 2)
        assert log.read(after=2) == notes("a")
        log.close()

    def test_what_was_read_belongs_to_the_reader(self, place: LogPlace) -> None:
        """Changing the list that `read` returned does not change the log."""
        log = place.create(FIRST)
        log.read().clear()
        assert log.read() == list(FIRST)
        log.close()

    def test_any_appends_read_back_in_order(self, place: LogPlace) -> None:
        """Appends of random sizes, compared with a list; empty ones change nothing."""
        rng = random.Random(0)
        log = place.create(FIRST)
        model = list(FIRST)
        for number in range(20):
            added = notes(*(f"{number}.{i}" for i in range(rng.randrange(4))), clock=number)
            log.append(added, len(model))
            model += added
            after = rng.randrange(len(model) + 1)
            assert log.read(after) == model[after:]
        log.close()

    def test_a_study_runs_on_the_log_and_resumes(self, place: LogPlace) -> None:
        """The log is all that a study needs to go on in another process."""
        with Study(_CONFIGS, "12 epochs", seed=1, policy="random", keep=place.create) as study:
            _train(study, 5)
        with Study.resume(place.reopen()) as study:
            _train(study, 99)
        log = place.reopen()
        assert fold(log.read()).ledger.spent == 12
        log.close()


def _train(study: Study, units: int) -> None:
    for _ in range(units):
        unit = study.ask()
        if unit is None:
            return
        study.tell(unit, [abs(float(str(unit.config["x"])) - 0.3)] * unit.epochs)
