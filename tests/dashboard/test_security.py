from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bhpt.dashboard.app import make_app
from bhpt.dashboard.feed import StudyFeed
from bhpt.dashboard.security import Access, access_to
from bhpt.domain import Misuse
from bhpt.storage import Address
from tests.dashboard.cases import stored_study

TOKEN = "a-token-of-some-length"
LOCAL = access_to("127.0.0.1", None)
WIDE = access_to("0.0.0.0", TOKEN, ["tuner.example"])


@pytest.fixture(scope="module")
def feed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudyFeed]:
    file = tmp_path_factory.mktemp("study") / "s.db"
    stored_study(file, units=3).close()
    feed = StudyFeed(Address.parse(file))
    yield feed
    feed.close()


def client(feed: StudyFeed, access: Access, base: str = "http://localhost") -> TestClient:
    return TestClient(make_app([feed], access), base_url=base, follow_redirects=False)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8766", "[::1]:8766", "LocalHost:1"])
def test_this_machine_is_answered(feed: StudyFeed, host: str) -> None:
    assert client(feed, LOCAL).get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "192.168.0.7", ""])
def test_no_other_name_is_answered(feed: StudyFeed, host: str) -> None:
    answer = client(feed, LOCAL).get("/api/studies", headers={"Host": host})
    assert answer.status_code == 400
    assert "s.db" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(feed: StudyFeed, method: str) -> None:
    assert client(feed, LOCAL).request(method, "/api/studies/0").status_code == 405


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/api/studies/0", "/nowhere", "/api/studies/7"]
)
def test_every_answer_has_the_headers(feed: StudyFeed, path: str) -> None:
    headers = client(feed, LOCAL).get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("name", ["..%2fapp.py", "%2e%2e/app.py", "index.html", "app.py", ""])
def test_only_the_files_of_the_page_are_sent(feed: StudyFeed, name: str) -> None:
    assert client(feed, LOCAL).get(f"/static/{name}").status_code == 404


def test_elsewhere_a_token_is_needed(feed: StudyFeed) -> None:
    visitor = client(feed, WIDE, "http://tuner.example")
    assert visitor.get("/").status_code == 401
    assert visitor.get("/?token=wrong-wrong-wrong").status_code == 401
    assert visitor.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    shown = visitor.get(f"/?token={TOKEN}&x=1")
    assert shown.status_code == 303
    assert shown.headers["location"] == "/?x=1"
    cookie = shown.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert visitor.get("/api/studies").status_code == 200


def test_addresses_in_numbers_are_answered_with_the_token(feed: StudyFeed) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    visitor = client(feed, WIDE)
    assert visitor.get("/", headers={**bearer, "Host": "192.168.0.7:80"}).status_code == 200
    assert visitor.get("/", headers={**bearer, "Host": "evil.example"}).status_code == 400


def test_a_redirect_never_leaves_the_host(feed: StudyFeed) -> None:
    visitor = client(feed, WIDE, "http://tuner.example")
    for path in ("//evil.example/", "/%2f/evil.example", "///evil.example"):
        answer = visitor.get(f"http://tuner.example{path}?token={TOKEN}")
        assert not answer.headers.get("location", "/").startswith("//")


def test_an_open_address_without_a_token_is_refused() -> None:
    for host in ("0.0.0.0", "::", "192.168.0.7", "tuner.example"):
        with pytest.raises(Misuse, match="--token-file"):
            access_to(host, None)
    with pytest.raises(Misuse, match="too short"):
        access_to("0.0.0.0", "short")


def test_nothing_is_written_by_looking(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    stored_study(file, units=3).close()
    before = file.read_bytes()
    feed = StudyFeed(Address.parse(file))
    with client(feed, LOCAL) as visitor:
        assert visitor.get("/api/studies/0").status_code == 200
    feed.close()
    assert file.read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith("s.db")]
