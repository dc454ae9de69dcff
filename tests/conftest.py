"""What all tests share: a list of trusted studies of their own, and Ctrl-C that is not ignored."""

import os
import signal
from collections.abc import Iterator

import pytest


def pytest_configure() -> None:
    """Let interrupts through: a shell starts what runs in its background with SIGINT ignored.

    Processes that tests start inherit that, and those that are then sent one would go on.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before
