"""The contract suites where pytest is not installed."""

import subprocess
import sys

_WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path, target=None):
        if name == "pytest":
            raise ModuleNotFoundError("No module named 'pytest'", name="pytest")

sys.meta_path.insert(0, Missing())
import bhpt
bhpt.testing.PolicyContract
"""


def test_what_the_suites_need_is_said() -> None:
    words = [sys.executable, "-c", _WITHOUT]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: the contract suites need pytest: pip install 'bhpt[testing]'"
    )
