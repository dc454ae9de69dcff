import asyncio
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bhpt.dashboard import assets
from bhpt.dashboard.app import Channel, make_app
from bhpt.dashboard.feed import StudyFeed
from bhpt.dashboard.security import access_to
from bhpt.storage import Address
from tests.dashboard.cases import HOSTILE, stored_study


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A dashboard of two studies, one of them empty."""
    folder = tmp_path_factory.mktemp("studies")
    stored_study(folder / "a.db", units=20).close()
    stored_study(folder / "b.db", units=0).close()
    feeds = [StudyFeed(Address.parse(folder / name)) for name in ("a.db", "b.db")]
    with TestClient(make_app(feeds, access_to("localhost", None)), "http://localhost") as client:
        yield client
    for feed in feeds:
        feed.close()


def test_the_page_needs_nothing_from_elsewhere(page: TestClient) -> None:
    text = page.get("/").text
    assert "http://" not in text
    assert "https://" not in text
    for name in (*assets.SCRIPTS, assets.STYLE, assets.PLOTLY):
        assert f"/static/{name}" in text
        answer = page.get(f"/static/{name}")
        assert answer.status_code == 200
        tag = {"If-None-Match": answer.headers["etag"]}
        assert page.get(f"/static/{name}", headers=tag).status_code == 304


def test_both_studies_are_there(page: TestClient) -> None:
    assert [one["name"] for one in page.get("/api/studies").json()] == ["a.db", "b.db"]
    whole = page.get("/api/studies/0").json()
    assert whole["overview"]["units"] == 20
    assert len(whole["units"]["attempt"]) == 20
    assert page.get("/api/studies/1").json()["overview"]["best"] is None
    assert [one["overview"]["units"] for one in page.get("/api/compare").json()] == [20, 0]


def test_decisions_parameters_and_forecasts_are_answered(page: TestClient) -> None:
    why = page.get("/api/studies/0/why/19").json()
    assert why["arm"] == why["recomputed_arm"]
    assert why["arm"] in why["arms"]
    assert {one["name"] for one in page.get("/api/studies/0/parameters").json()["described"]} == {
        "rate",
        "depth",
        "kind",
    }
    assert "epochs" in page.get("/api/studies/0/forecast").json()["advice"]


@pytest.mark.parametrize("path", ["1/forecast", "1/why/0", "0/why/99"])
def test_what_cannot_be_said_is_one_line(page: TestClient, path: str) -> None:
    answer = page.get(f"/api/studies/{path}")
    assert answer.status_code == 422
    assert answer.json()["error"]


@pytest.mark.parametrize("path", ["7", "7/stream", "0/secrets.csv", "0/nothing", "x"])
def test_what_is_not_there_is_not_found(page: TestClient, path: str) -> None:
    assert page.get(f"/api/studies/{path}").status_code == 404


def test_tables_can_be_downloaded(page: TestClient) -> None:
    answer = page.get("/api/studies/0/epochs.csv")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 20
    assert {row["config.kind"] for row in rows} <= {HOSTILE, "plain"}
    everything = page.get("/api/studies/0/study.json")
    assert len(json.loads(everything.text)["attempts"]) == 20


def test_an_error_of_the_predictor_is_said_and_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_study(tmp_path / "s.db", units=2).close()
    feed = StudyFeed(Address.parse(tmp_path / "s.db"))

    def broken() -> None:
        raise ArithmeticError("out of numbers")

    monkeypatch.setattr(feed, "predict", broken)
    channel = Channel(feed)
    with pytest.raises(ExceptionGroup):
        asyncio.run(channel.follow())
    feed.close()
    assert "out of numbers" in channel.trouble
