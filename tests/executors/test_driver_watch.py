"""The process that speaks for a driver that cannot."""

import subprocess
import sys

_DRIVER = """
import os, sys
from bhpt.executors.driver_watch import DriverWatch

watch = DriverWatch("go on with: bhpt resume x.db")
{end}
"""


def _printed(end: str) -> str:
    """What is printed on standard error around a driver that ends so, until the watch has ended."""
    code = _DRIVER.format(end=end)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stderr


def test_a_driver_that_is_ended_has_last_words() -> None:
    assert _printed("os._exit(1)") == "go on with: bhpt resume x.db\n"
    assert _printed("os.kill(os.getpid(), 9)") == "go on with: bhpt resume x.db\n"


def test_a_driver_that_ends_by_itself_has_none() -> None:
    assert _printed("watch.call_off(); watch.call_off()") == ""
