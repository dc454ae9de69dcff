"""What is said while people wait, and only then."""

import threading

import pytest

from bhpt.views.live_view import announced


def test_a_long_wait_is_announced() -> None:
    lines: list[str] = []
    heard = threading.Event()

    def write(line: str) -> None:
        lines.append(line)
        heard.set()

    with announced("starting", write, after_s=0.0) as said:
        assert heard.wait(30)
        said("first line")
    assert lines == ["starting", "first line"]


def test_a_short_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    cancelled: list[bool] = []
    cancel = threading.Timer.cancel

    def noted(timer: threading.Timer) -> None:
        cancelled.append(True)
        cancel(timer)

    monkeypatch.setattr(threading.Timer, "cancel", noted)
    with announced("starting", lines.append, after_s=3600.0) as said:
        said("first line")
        assert cancelled
    cancelled.clear()
    with announced("starting", lines.append, after_s=3600.0):
        assert not cancelled
    assert cancelled
    assert lines == ["first line"]
