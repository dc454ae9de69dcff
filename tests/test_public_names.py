import ast
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

import bhpt

PUBLIC = [name for name in bhpt.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(bhpt, name) is not None


def test_type_checkers_and_programs_see_the_same_names() -> None:
    """The names are written three times: for readers, for type checkers and for programs."""
    tree = ast.parse(Path(bhpt.__file__).read_text())
    imported = {
        f"{node.module}.{alias.name}"
        for branch in tree.body
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {f"{home}.{name}" for name, home in bhpt._HOMES.items()}
    assert sorted(PUBLIC) == sorted(bhpt._HOMES)
    assert dir(bhpt) == sorted(bhpt.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bhpt.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_importing_loads_nothing_else() -> None:
    code = "import sys, bhpt; print([m for m in sys.modules if 'bhpt.' in m or m == 'numpy'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['bhpt.lazy_names']\n"


def test_the_version_is_written_once() -> None:
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert bhpt.__version__ not in project.read_text()
    assert metadata("bhpt")["Version"] == bhpt.__version__
