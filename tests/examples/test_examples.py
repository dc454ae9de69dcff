"""Every example, with a small budget."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "examples"
SLOW = pytest.mark.slow


def ran(folder: Path, *words: str) -> str:
    """What a command prints in an empty folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        words, check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "budget", "needs", "says"),
    [
        ("digits", "4 epochs", "sklearn", "best loss"),
        pytest.param("boosted_trees", "4 epochs", "xgboost", "best logloss", marks=SLOW),
        pytest.param("pytorch_images", "4 epochs", "torch", "best accuracy", marks=SLOW),
        pytest.param("hugging_face", "2 epochs", "transformers", "best eval_loss", marks=SLOW),
    ],
)
def test_an_example_runs(tmp_path: Path, name: str, budget: str, needs: str, says: str) -> None:
    if find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    assert says in ran(tmp_path, sys.executable, str(ROOT / f"{name}.py"), budget)
    assert (tmp_path / f"runs/{name}.db").exists()


def test_a_script_is_tuned_as_it_is(tmp_path: Path) -> None:
    ran(tmp_path, "sh", str(ROOT / "existing_script" / "tune.sh"), "4 epochs")
    assert (tmp_path / "runs/existing_script.db").exists()


def test_every_example_is_listed() -> None:
    listed = (ROOT / "README.md").read_text()
    for path in (*ROOT.glob("*.py"), ROOT / "existing_script"):
        assert path.name in listed
