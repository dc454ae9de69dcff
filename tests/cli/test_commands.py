"""Commands are imported when they are called; their lists say what their help says."""

import subprocess
import sys

import pytest

from bhpt.cli import bench, main
from bhpt.cli.deferred import CommandEntry, load_command
from tests.cli.cases import Folder

HEAVY = ("numpy", "scipy", "sqlalchemy", "ConfigSpace")
_IMPORTED = """
import sys
from bhpt.cli.main import run
status = run({arguments!r})
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), ([], 0), (["--version"], 0), (["tunee"], 2)]
)
def test_what_runs_no_command_imports_no_room(arguments: list[str], status: int) -> None:
    program = _IMPORTED.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.returncode == status
    assert done.stderr.splitlines()[-1] == "[]"


def test_importing_the_package_imports_no_room() -> None:
    program = f"import sys, bhpt; sys.exit(any(name in sys.modules for name in {HEAVY!r}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("entry", [*main.COMMANDS, *bench.COMMANDS], ids=lambda entry: entry.name)
def test_a_list_of_commands_says_the_first_line_of_their_help(entry: CommandEntry) -> None:
    command = load_command(entry.target)
    assert command.help is not None
    assert command.help.splitlines()[0] == entry.about


@pytest.mark.parametrize(
    "path", [[entry.name] for entry in main.COMMANDS] + [["bench", e.name] for e in bench.COMMANDS]
)
def test_every_command_has_its_whole_help(path: list[str], folder: Folder) -> None:
    done = folder.bhpt(*path, "--help")
    assert done.status == 0
    assert done.out.startswith(f"Usage: bhpt {' '.join(path)} ")
    assert "--help" in done.out
    assert "completion" not in done.out
