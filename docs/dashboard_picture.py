"""Take a picture of a study's dashboard, for the README; needs Chromium and playwright.

python docs/dashboard_picture.py runs/digits.db docs/images/dashboard.png --view overview
"""

import argparse
import shutil
import threading
from contextlib import closing

from playwright.sync_api import sync_playwright

from bhpt.dashboard.feed import StudyFeed
from bhpt.dashboard.security import access_to
from bhpt.dashboard.server import listen, make_server
from bhpt.storage import Address

_SETTLED_MS = 4000  # until the predictions are there


def take(address: str, out: str, view: str, scheme: str, width: int) -> None:
    """Open a view and keep what is seen of it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": width, "height": 985},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page.goto(f"{address}#{view}")
        page.wait_for_selector("html[data-drawn]", state="attached", timeout=120_000)
        page.wait_for_timeout(_SETTLED_MS)
        page.screenshot(path=out)
        browser.close()


def main() -> None:
    """Read the arguments, serve the study and take the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("out")
    parser.add_argument("--view", default="overview")
    parser.add_argument("--scheme", default="light")
    parser.add_argument("--width", type=int, default=1200)
    given = parser.parse_args()
    with closing(StudyFeed(Address.parse(given.study))) as feed, listen("127.0.0.1", 0) as socket:
        server = make_server([feed], access_to("127.0.0.1", None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{socket.getsockname()[1]}/"
            take(address, given.out, given.view, given.scheme, given.width)
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
