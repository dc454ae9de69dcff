import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bhpt
from bhpt.dashboard.feed import StudyFeed
from bhpt.domain import Misuse
from bhpt.plot.sources import past_decision, state_of
from bhpt.storage import Address, create_store
from bhpt.study import MemoryLog, State
from tests.dashboard.cases import HOSTILE, stored_study

FIGURES: dict[str, Callable[..., Any]] = {
    "progress": bhpt.plot.progress,
    "curves": bhpt.plot.curves,
    "timeline": bhpt.plot.timeline,
    "decision": bhpt.plot.decision,
    "importance": bhpt.plot.importance,
    "slices": lambda study, **more: bhpt.plot.slices(study, "kind", **more),
    "parallel": bhpt.plot.parallel,
    "forecast": bhpt.plot.forecast,
    "compare": bhpt.plot.compare,
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("study") / "s.db"
    stored_study(file, units=18).close()
    return file


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_rendered_by_both_libraries(name: str, file: Path) -> None:
    buffer = io.BytesIO()
    FIGURES[name](file).savefig(buffer, format="png", dpi=40)
    assert buffer.getvalue().startswith(b"\x89PNG")
    text = FIGURES[name](str(file), backend="plotly").to_json()
    assert HOSTILE not in text
    assert '"type"' in text


def test_a_figure_shows_the_data(file: Path) -> None:
    state = state_of(file)
    assert isinstance(state, State)
    axes = bhpt.plot.progress(state).axes
    best = axes[0].lines[0].get_ydata()
    assert state.best is not None
    assert best[-1] == state.best.loss
    assert axes[1].lines[0].get_ydata()[-1] == state.ledger.left
    found = bhpt.plot.decision(file)
    assert found.axes[0].get_title() == state.attempts[-1].why
    lines = bhpt.plot.curves(file, fans=False, log=True).axes[0]
    assert lines.get_yscale() == "log"


def test_a_study_in_memory_is_drawn_too() -> None:
    study = bhpt.Study({"rate": (0.1, 1.0)}, "5 epochs")
    while (unit := study.ask()) is not None:
        study.tell(unit, unit.config["rate"], seconds=1.0)
    for name in ("progress", "curves", "timeline", "decision", "importance", "parallel"):
        FIGURES[name](study)
    assert len(bhpt.plot.compare(study, study.state).axes[0].lines) == 2


def test_a_study_without_units_is_drawn_or_refused() -> None:
    study = bhpt.Study({"rate": (0.1, 1.0)}, "5 epochs")
    for name in ("progress", "curves", "timeline", "importance", "parallel", "compare"):
        FIGURES[name](study)
        FIGURES[name](study, backend="plotly")
    for name in ("forecast", "decision", "slices"):
        with pytest.raises(Misuse):
            FIGURES[name](study)


@pytest.mark.parametrize(("backend", "extra"), [("matplotlib", "plots"), ("plotly", "dashboard")])
def test_a_missing_library_is_one_clear_line(
    file: Path, monkeypatch: pytest.MonkeyPatch, backend: Any, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(Misuse, match=rf"bhpt\[{extra}\]"):
        bhpt.plot.timeline(file, backend=backend)


def test_an_unknown_library_or_parameter_is_refused(file: Path) -> None:
    with pytest.raises(Misuse, match="use 'matplotlib' or 'plotly'"):
        bhpt.plot.timeline(file, backend="gnuplot")  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="rate"):
        bhpt.plot.slices(file, "nothing")
    with pytest.raises(Misuse, match="no attempt 99"):
        bhpt.plot.decision(file, 99)
    with pytest.raises(Misuse, match="attempt is a whole number, not 'last'"):
        bhpt.plot.decision(file, "last")  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="no unit of the study was started yet"):
        bhpt.plot.decision(bhpt.Study([{"x": 1}], "4 epochs", policy="random"))
    with pytest.raises(Misuse, match="name at least one study"):
        bhpt.plot.compare()


def test_a_past_decision_is_that_of_its_own_moment(tmp_path: Path) -> None:
    """Under a deadline time passes between two events: the same is left for all who look back."""
    clock = iter(range(0, 10_000, 3))
    events = bhpt.Study({"x": (0.0, 1.0)}, "1000s", policy="random")._journal._log.read()
    log = MemoryLog(events)
    study = bhpt.Study.resume(log, clock=lambda: float(next(clock)))
    for _ in range(3):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, 0.5, seconds=1.0)
    file = tmp_path / "s.db"
    create_store(file, log.read()).close()
    feed = StudyFeed(Address.parse(file))
    for attempt in range(3):
        assert past_decision(file, attempt).left == feed.why(attempt).left
    feed.close()
