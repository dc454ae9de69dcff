"""The dashboard in a real browser: the system's Chromium, driven by Playwright."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bhpt
from bhpt.dashboard.feed import StudyFeed
from bhpt.dashboard.security import access_to
from bhpt.dashboard.server import listen, make_server
from bhpt.dashboard.single_file import report_page
from bhpt.storage import Address
from tests.dashboard.cases import HOSTILE, advance, large_study, stored_study
from tests.reports.cases import flat_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Request

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
VIEWS = ("overview", "curves", "timeline", "why", "parameters", "forecast")
WAIT_MS = 240_000  # the machine may be busy

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path"),
    pytest.mark.timeout(1200),  # a browser on a busy machine
]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Look:
    """A page, with everything about it that should not have happened."""

    def __init__(self, browser: "Browser", width: int = 1280, scheme: str = "light") -> None:
        self.page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        self.page.set_default_timeout(WAIT_MS)
        self.wrong: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        self.page.on("request", self._asked)

    def _said(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def _asked(self, request: "Request") -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:", "file:")):
            self.wrong.append(f"asked for {request.url}")

    def open(self, address: str, view: str = "overview") -> None:
        """Show a view, and wait until it is drawn."""
        self.page.goto("about:blank")
        self.page.goto(f"{address}#{view}")
        self.page.wait_for_selector("html[data-drawn]", state="attached")

    def text(self, selector: str = "main") -> str:
        return self.page.inner_text(selector)

    def is_too_wide(self) -> bool:
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return bool(self.page.evaluate(wider) > 0)


@contextmanager
def served(*files: Path) -> Iterator[str]:
    """The address of a dashboard of some studies."""
    feeds = [StudyFeed(Address.parse(file)) for file in files]
    server = make_server(feeds, access_to("127.0.0.1", None))
    with listen("127.0.0.1", 0) as socket:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()
    for feed in feeds:
        feed.close()


def test_a_page_follows_its_study_and_shows_hostile_values_as_text(
    tmp_path: Path, browser: "Browser"
) -> None:
    file = tmp_path / "s.db"
    study = stored_study(file, units=1)
    look = Look(browser)
    with served(file) as address:
        look.open(address)
        look.page.wait_for_selector("text=1 of 30 epochs")
        advance(study, 9)
        look.page.wait_for_selector("text=10 of 30 epochs")
        best = f"{study.best_loss:.5g}"
        look.page.wait_for_selector(f"text={best}")
        assert study.state.attempts[-1].why in look.text()
        look.open(address, "curves")
        arm = next(arm for arm in study.state.tried if study.state.configs[arm]["kind"] == HOSTILE)
        look.page.fill("input[type=number]", str(arm))
        look.page.press("input[type=number]", "Enter")
        look.page.wait_for_selector(f"text={HOSTILE}")
        assert look.page.query_selector("main script") is None
        look.page.goto("about:blank")
    study.close()
    assert look.wrong == []


def test_an_interval_without_a_width_is_said_in_words(tmp_path: Path, browser: "Browser") -> None:
    file = tmp_path / "s.db"
    flat_study(bhpt.stored(file)).close()
    look = Look(browser)
    with served(file) as address:
        look.open(address)
        look.page.wait_for_selector("text=no gain in sight")
        assert "90% interval" not in look.text()
        look.page.goto("about:blank")
    assert look.wrong == []


def test_a_study_that_is_done_says_why_and_what_more_would_cost(
    tmp_path: Path, browser: "Browser"
) -> None:
    file = tmp_path / "s.db"
    study = bhpt.Study({"x": (0.0, 1.0)}, "6 epochs", policy="random", keep=bhpt.stored(file))
    while (unit := study.ask()) is not None:
        study.tell(unit, 1 / (unit.done + 1))
    study.close()
    look = Look(browser)
    with served(file) as address:
        look.open(address)
        assert look.page.inner_text("#phase") == "done: the budget is spent"
        assert look.page.is_visible("h2:text-is('The budget is spent')")
        assert not look.page.is_visible("h2:text-is('Predicted at the end')")
        look.open(address, "forecast")
        command = f"bhpt.open_study('{file}').add_budget('3 epochs')"
        look.page.wait_for_selector(f'code:text-is("{command}")')
        look.open(address, "parameters")
        look.page.wait_for_selector("h2:text-is('One by one')")
        assert not look.page.is_visible("h2:text-is('All together')")  # of one hyper-parameter
        look.page.goto("about:blank")
    assert look.wrong == []


def test_what_more_budget_cannot_buy_is_not_proposed(tmp_path: Path, browser: "Browser") -> None:
    file = tmp_path / "s.db"
    study = bhpt.Study([{"x": 0.5}], "6 epochs", max_epochs=3, keep=bhpt.stored(file))
    while (unit := study.ask()) is not None:
        study.tell(unit, 1e-6)
    study.close()
    look = Look(browser, width=400)
    with served(file) as address:
        look.open(address, "forecast")
        look.page.wait_for_selector("text=No: every configuration is given up or at its last epoch")
        assert not look.page.query_selector_all("main code")
        look.page.wait_for_selector(".js-plotly-plot")
        low, high = look.page.evaluate(
            "document.querySelector('.js-plotly-plot')._fullLayout.yaxis.range"
        )
        assert 0 < low < 1e-6 < high < 1e-5  # of values that are all the same
        look.page.goto("about:blank")
    assert look.wrong == []


@pytest.mark.parametrize(
    ("width", "last_name", "groups"),
    [(400, "a_name_of_its…", 2), (1280, "a_name_of_its_own_that_is_long", 5)],
)
def test_where_it_is_narrow_lines_keep_their_room(
    tmp_path: Path, browser: "Browser", width: int, last_name: str, groups: int
) -> None:
    file = tmp_path / "s.db"
    space = {"x": (0.0, 1.0), "a_name_of_its_own_that_is_long": [1, 2, 3]}
    study = bhpt.Study(space, "12 epochs", max_epochs=1, keep=bhpt.stored(file))
    while (unit := study.ask()) is not None:
        study.tell(unit, unit.config["x"])
    study.close()
    look = Look(browser, width=width)
    with served(file) as address:
        look.open(address, "parameters")
        card = "section[aria-label='All together']"
        look.page.wait_for_selector(f"{card} .legendtext")
        names = [one.text_content() for one in look.page.query_selector_all(f"{card} .xtick")]
        assert last_name in names
        assert len(look.page.query_selector_all(f"{card} .legendtext")) == groups
        look.page.goto("about:blank")
    assert look.wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("units", [0, 1, 100, 1000])
def test_every_view_is_drawn_for_every_size(tmp_path: Path, browser: "Browser", units: int) -> None:
    file = tmp_path / "s.db"
    if units < 100:
        stored_study(file, units=units).close()
    else:
        large_study(file, units, 5 * units)
    with served(file) as address:
        for width, scheme in ((1280, "light"), (390, "dark")):
            look = Look(browser, width, scheme)
            for view in VIEWS:
                look.open(address, view)
                look.page.wait_for_selector("main .waiting", state="detached")
                assert not look.is_too_wide(), view
            look.page.close()
            assert look.wrong == []


@pytest.mark.slow
def test_figures_are_tables_and_files_too(tmp_path: Path, browser: "Browser") -> None:
    stored_study(tmp_path / "s.db", units=20).close()
    look = Look(browser)
    with served(tmp_path / "s.db") as address:
        look.open(address, "curves")
        look.page.click("summary")
        assert "predicted end" in look.text("table")
        with look.page.expect_download() as kept:
            look.page.click("button:has-text('CSV')")
        assert "arm,epochs" in Path(kept.value.path()).read_text()
        with look.page.expect_download() as kept:
            look.page.click("button:has-text('PNG')")
        assert Path(kept.value.path()).read_bytes().startswith(b"\x89PNG")
        with look.page.expect_download() as kept:
            look.page.click("footer a:has-text('JSON')")
        assert Path(kept.value.path()).stat().st_size > 1000
    assert look.wrong == []


@pytest.mark.slow
def test_a_page_can_be_used_without_a_mouse(tmp_path: Path, browser: "Browser") -> None:
    stored_study(tmp_path / "s.db", units=5).close()
    look = Look(browser)
    with served(tmp_path / "s.db") as address:
        look.open(address)
        for role in ("banner", "navigation", "main", "contentinfo"):
            assert look.page.get_by_role(role).count() == 1
        look.page.keyboard.press("Tab")
        assert look.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        look.page.get_by_role("link", name="Why", exact=True).focus()
        look.page.keyboard.press("Enter")
        look.page.wait_for_selector("text=Why this arm?")
        assert look.page.get_by_role("link", name="Why", exact=True).get_attribute("aria-current")
        theme = look.page.get_by_role("button", name="Switch to the dark theme")
        theme.focus()
        look.page.keyboard.press("Enter")
        assert look.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert look.wrong == []


def test_another_study_shows_nothing_of_the_one_before(tmp_path: Path, browser: "Browser") -> None:
    stored_study(tmp_path / "a.db", units=6).close()
    bhpt.Study([{"rate": 0.5}], "3 epochs", keep=bhpt.stored(tmp_path / "b.db")).close()
    look = Look(browser)
    with served(tmp_path / "a.db", tmp_path / "b.db") as address:
        look.open(address)
        look.page.wait_for_selector("text=More budget?")  # what it would buy in this study
        look.page.select_option("#studies", "1")
        look.page.wait_for_selector("text=0 of 3 epochs")
        assert look.page.query_selector("text=More budget?") is None
        look.page.select_option("#studies", "0")
        look.page.wait_for_selector("text=6 of 30 epochs")
        look.page.click("text=Why this arm?")
        look.page.wait_for_selector("text=Who was listened to")
        look.page.select_option("#studies", "1")
        look.page.wait_for_selector("text=No unit was started yet.")
        assert look.page.query_selector("text=Who was listened to") is None
    assert look.wrong == []


@pytest.mark.slow
def test_studies_are_shown_side_by_side(tmp_path: Path, browser: "Browser") -> None:
    for name in ("a.db", "b.db"):
        stored_study(tmp_path / name, units=6).close()
    look = Look(browser)
    with served(tmp_path / "a.db", tmp_path / "b.db") as address:
        look.open(address, "compare")
        look.page.wait_for_selector("text=Where they stand")
        assert "b.db" in look.text()
        look.page.select_option("#studies", "1")
        look.page.wait_for_selector("#name:has-text('b.db')")
    assert look.wrong == []


def test_no_number_of_an_axis_covers_another(tmp_path: Path, browser: "Browser") -> None:
    """Also where losses fall by very many decades."""
    for name, falls in (("a.db", 1e-3), ("b.db", 0.5)):
        with bhpt.Study([{"x": 1}], "9 epochs", keep=bhpt.stored(tmp_path / name)) as study:
            while (unit := study.ask()) is not None:
                study.tell(unit, falls ** (unit.done + 1), seconds=1.0)
    look = Look(browser)
    with served(tmp_path / "a.db", tmp_path / "b.db") as address:
        look.open(address, "compare")
        look.page.wait_for_selector(".ytick")
        boxes = look.page.eval_on_selector_all(
            ".ytick text",
            "all => all.map(one => one.getBoundingClientRect()).map(one => [one.top, one.bottom])",
        )
    lines = sorted(boxes)
    assert len(lines) > 3
    assert all(above[1] <= below[0] + 1 for above, below in pairwise(lines))


@pytest.mark.slow
def test_a_report_is_drawn_from_one_file(tmp_path: Path, browser: "Browser") -> None:
    large_study(tmp_path / "s.db", 100, 400)
    with closing(StudyFeed(Address.parse(tmp_path / "s.db"))) as feed:
        (tmp_path / "r.html").write_text(report_page(feed), "utf-8")
    look = Look(browser)
    for view in (*VIEWS, "why/3"):
        look.open((tmp_path / "r.html").as_uri(), view)
        look.page.wait_for_selector("main .waiting", state="detached")
    look.open((tmp_path / "r.html").as_uri(), "timeline")
    look.page.click("main section:has-text('Failures') summary")
    look.page.wait_for_selector(f"text={HOSTILE} at line 3")
    assert look.wrong == []


@pytest.mark.slow
def test_a_lost_connection_is_said(tmp_path: Path, browser: "Browser") -> None:
    stored_study(tmp_path / "s.db", units=3).close()
    look = Look(browser)
    with served(tmp_path / "s.db") as address:
        look.open(address)
    look.page.wait_for_selector("text=The connection is lost")
