import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from bhpt.reports.forecast import forecast
from bhpt.study import Study
from bhpt.study.html_summary import summary_html
from tests.reports.cases import state_of

HOSTILE = "<script>alert(1)</script>"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.seen.append(tag)


def test_a_notebook_shows_the_best_and_the_curves() -> None:
    state = state_of(units=12)
    text = summary_html(state, [("extra", HOSTILE)])
    assert state.best is not None
    assert f"{state.best.loss:.5g}" in text
    assert "12 of 20 epochs" in text
    assert HOSTILE not in text
    assert set(Tags(text).seen) == {"div", "table", "tr", "th", "td", "svg", "polyline"}
    picture = ElementTree.fromstring(re.search(r"<svg.*</svg>", text)[0])  # type: ignore[index]
    places = [place for line in picture for place in line.attrib["points"].split()]
    assert all(0 <= float(place.split(",")[1]) <= 130 for place in places)


def test_hostile_values_are_text() -> None:
    study = Study([{"kind": HOSTILE, "<b>": 1}], "2 epochs")
    unit = study.ask()
    assert unit is not None
    study.tell(unit, 0.5, seconds=1.0)
    text = study._repr_html_()
    assert HOSTILE not in text
    assert "script" not in Tags(text).seen
    assert "b" not in Tags(text).seen


@pytest.mark.parametrize("mode", ["min", "max"])
def test_a_study_without_a_loss_and_a_forecast_are_shown(mode: str) -> None:
    assert "none yet" in summary_html(state_of(units=0, mode=mode))
    shown = forecast(state_of(units=12, mode=mode))._repr_html_()
    assert "epochs more" in shown
    assert "epochs left" in shown
