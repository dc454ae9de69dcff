import io
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from bhpt.cli.session_options import size_in_bytes
from bhpt.domain import Misuse
from bhpt.reports.forecast import forecast
from bhpt.reports.prediction import Interval
from bhpt.reports.progress import progress_of
from bhpt.study import Study
from bhpt.views.formatting import (
    config_text,
    go_on_command,
    interval_text,
    resume_command,
    sparkline,
    value_text,
)
from bhpt.views.live_view import StudyClock, plain_line
from bhpt.views.renderables import summary
from tests.reports.cases import flat_study, state_of


def test_values() -> None:
    assert value_text("\x1b[2J") == '"\\u001b[2J"'
    assert value_text(0.123456) == "0.1235"
    assert value_text(True) == "true"
    assert value_text([1, None]) == "[1, null]"
    assert config_text({"a": 1, "b\n": "x"}) == 'a=1  "b\\n"=x'


def test_intervals() -> None:
    assert interval_text(Interval(0.1, 0.2, 0.31)) == "0.2 (0.1 to 0.31)"
    assert interval_text(Interval(math.nan, 0.2, math.nan)) == "0.2"


def test_an_interval_without_a_width_is_said_in_words() -> None:
    assert interval_text(Interval(0.4, 0.4, 0.4)) == "0.4 (no gain in sight)"
    assert interval_text(Interval(0.399996, 0.399998, 0.4)) == "0.4 (no gain in sight)"
    assert interval_text(Interval(0.6211, 0.6213, 0.6214)) == "0.6213 (0.6211 to 0.6214)"


def test_all_views_say_so_of_a_study_whose_curves_have_ended() -> None:
    study = flat_study()
    line = plain_line(progress_of(study.state))
    assert "at the end 0.4 (no gain in sight)" in line
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(summary(progress_of(study.state)))
    assert "0.4 (no gain in sight)" in console.export_text()
    found = forecast(study.state)
    assert found._repr_html_().count("(no gain in sight)") == len(found.outcomes)


def test_sparklines() -> None:
    assert sparkline(np.array([1.0, 0.1, 0.01]), 0.01, 1.0, 10) == "█▅▁"
    assert sparkline(np.array([1.0, math.nan, math.inf]), 1.0, 1.0, 10) == "▁!!"
    assert sparkline(np.array([-1.0, 0.0, 1.0]), -1.0, 1.0, 10) == "▁▅█"
    assert len(sparkline(np.linspace(1, 2, 500), 1.0, 2.0, 24)) == 24


def test_commands_are_quoted() -> None:
    assert resume_command("my runs/s.db", "5 epochs") == (
        "bhpt resume 'my runs/s.db' --add-budget '5 epochs'"
    )
    assert shlex.split(resume_command("s.db", "$4.00"))[-1] == "$4.00"
    assert "'$4.00'" in resume_command("s.db", "$4.00")  # in double quotes a shell would replace $4


def test_a_study_that_was_run_with_ask_and_tell_goes_on_in_python() -> None:
    asked = Study([{"x": 1}], "3 epochs").state.plan
    assert go_on_command("s.db", asked) == "bhpt.open_study('s.db')"
    assert go_on_command("s.db", asked, "$4") == "bhpt.open_study('s.db').add_budget('$4')"
    tuned = replace(asked, trainer={"name": "job:Net"})
    assert go_on_command("s.db", tuned, "9 epochs") == "bhpt resume s.db --add-budget '9 epochs'"


def test_sizes() -> None:
    assert size_in_bytes("500MB") == 500_000_000
    assert size_in_bytes("1.5 GiB") == 3 * 2**29
    assert size_in_bytes("7") == 7
    for bad in ("", "0", "-1GB", "5XB"):
        with pytest.raises(Misuse, match="500MB"):
            size_in_bytes(bad)


def test_the_clock_goes_on_between_events() -> None:
    now = [100.0]
    clock = StudyClock(lambda: now[0])
    state = state_of("50s", units=1)
    assert clock.read(state) == state.clock
    now[0] += 5
    assert clock.read(state) == pytest.approx(state.clock + 5)
