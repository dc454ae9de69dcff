from pathlib import Path

import pytest

import bhpt
from bhpt.charts.plain import plain
from bhpt.dashboard import messages
from bhpt.dashboard.feed import StudyFeed
from bhpt.domain import Misuse
from bhpt.storage import Address
from bhpt.study import fold
from tests.dashboard.cases import HOSTILE, advance, stored_study


def test_a_feed_follows_its_study(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    study = stored_study(file, units=0)
    feed = StudyFeed(Address.parse(file))
    assert feed.scene.overview.units == 0
    assert not feed.poll()
    before = feed.scene
    advance(study, 4)
    assert feed.poll()
    assert feed.scene.state.events == study.state.events
    change = messages.change(before.state, feed.scene)
    assert change["units"]["attempt"] == [0, 1, 2, 3]
    assert sorted(change["arms"]["arm"]) == sorted(study.state.tried)
    study.close()
    assert feed.poll()
    assert feed.scene.phase == "paused"
    feed.close()


@pytest.mark.parametrize(
    ("epochs", "over", "buys"),
    [
        (2, "nothing is left to train", False),
        (4, "the budget is spent", False),
        (5, "the budget is spent", True),
    ],
)
def test_a_study_is_done_for_one_of_two_reasons(
    tmp_path: Path, epochs: int, over: str, *, buys: bool
) -> None:
    file = tmp_path / "s.db"
    keep = bhpt.stored(file)
    study = bhpt.Study([{"x": 1}], "4 epochs", max_epochs=epochs, policy="random", keep=keep)
    while (unit := study.ask()) is not None:
        study.tell(unit, 0.5)
    study.close()
    feed = StudyFeed(Address.parse(file))
    assert (feed.scene.phase, feed.scene.phase_text) == ("done", f"done: {over}")
    assert messages.whole(feed, feed.scene)["over"] == over
    more = messages.forecast(feed)
    assert bool(more["command"]) == buys
    assert ("more budget buys nothing" in more["advice"]) != buys
    feed.close()


def test_what_is_left_but_pays_for_nothing_is_no_reason_to_go_on(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    keep = bhpt.stored(file)
    study = bhpt.Study([{"x": 1}], "$8", price_per_hour=3600, policy="random", keep=keep)
    while (unit := study.ask()) is not None:
        study.tell(unit, 0.5, seconds=3.0)
    study.close()
    feed = StudyFeed(Address.parse(file))
    assert feed.scene.phase_text == "done: what is left pays for no further unit"
    assert study.state.ledger.left == 2.0
    feed.close()


def test_what_more_budget_costs_can_be_typed_as_it_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "my study.db"
    keep = bhpt.stored(file)
    study = bhpt.Study([{"x": 1}], "$8", price_per_hour=3600, policy="random", keep=keep)
    for _ in range(3):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, 0.5, seconds=1.0)
    study.close()
    feed = StudyFeed(Address.parse(file))
    assert feed.scene.over == ""
    command = messages.forecast(feed)["command"]
    feed.close()
    assert command == f"bhpt.open_study('{file}').add_budget('$4.00')"


def test_the_past_is_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bhpt.dashboard.feed._KEPT_EVERY", 7)
    monkeypatch.setattr("bhpt.storage.store._FEW", 10)  # the study has a stored state
    file = tmp_path / "s.db"
    study = stored_study(file, units=12)
    events = study._journal._log.read()
    study.close()
    feed = StudyFeed(Address.parse(file))
    for attempt in (11, 0, 5, 11):
        place = next(
            n for n, event in enumerate(events) if getattr(event, "attempt", None) == attempt
        )
        then = fold(events[:place])
        found = feed.before(attempt)
        assert found.events == then.events
        assert found.reports == then.reports
        assert plain(found.best) == plain(then.best)
    with pytest.raises(Misuse, match="no attempt 99"):
        feed.before(99)
    feed.close()


def test_hostile_values_cannot_begin_a_tag(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    stored_study(file, units=8).close()
    feed = StudyFeed(Address.parse(file))
    text = messages.text_of(messages.whole(feed, feed.scene))
    feed.close()
    assert "<" not in text
    assert HOSTILE.replace("<", "\\u003c") in text


def test_a_prediction_has_fans_and_ends(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    stored_study(file, units=15).close()
    feed = StudyFeed(Address.parse(file))
    found = messages.prediction(feed.predict(), feed.scene.state)
    feed.close()
    assert found["final"]["low"] <= found["final"]["middle"] <= found["final"]["high"]
    assert set(found["fans"]["arms"]) <= set(found["ends"]["arm"])
    messages.text_of(found)


def test_no_study_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(Misuse):
        StudyFeed(Address.parse(tmp_path / "none.db"))
