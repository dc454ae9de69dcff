import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bhpt.bench.peers import registry
from bhpt.cli.main import app
from bhpt.cli.peers import default_policies
from bhpt.domain import Misuse

COMMAND = ["bench", "peers", "--tasks", "synthetic,vae_mnist", "--budgets", "4,9", "--seeds", "2"]


def test_results_summary_and_a_page_that_loads_nothing(tmp_path: Path) -> None:
    lines = tmp_path / "calibration.csv"
    lines.write_text("suite,seen,coverage,error,last_value\ntables,5,0.9,0.1,0.2\n")
    chosen = ["--policies", "random,asha", "--arms", "12", "--jobs", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*COMMAND, *chosen, "--calibration", str(lines)])
    assert done.exit_code == 0, done.output
    assert "16 rows" in done.output
    results = (tmp_path / "results.csv").read_text()
    assert len(results.splitlines()) == 17
    assert len((tmp_path / "summary.csv").read_text().splitlines()) == 1 + 3 * 2 * 2
    text = (tmp_path / "peers.html").read_text()
    assert text.count('src="data:image/svg+xml;base64,') == 4
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    again = CliRunner().invoke(app, [*COMMAND, *chosen])
    assert again.exit_code == 0
    assert (tmp_path / "results.csv").read_text() == results


def test_bad_input_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for wrong, said in (
        (["--policies", "random,hyperopt"], "unknown policy 'hyperopt'"),
        (["--policies", "random", "--data", str(tmp_path / "absent")], "no such folder"),
        (["--policies", "random", "--calibration", "absent.csv"], "cannot be read"),
    ):
        done = CliRunner().invoke(app, [*COMMAND, "--out", str(tmp_path), *wrong])
        assert isinstance(done.exception, Misuse)
        assert said in str(done.exception)
    assert not (tmp_path / "results.csv").exists()


def test_the_policies_compared_by_default_exist() -> None:
    assert set(default_policies()) <= set(registry.names())
    assert {"default", "sh", "dyhpo", "optuna", "smac-mf", "bohb"} <= set(default_policies())


@pytest.mark.parametrize("name", ["optuna", "random"])
def test_policies_lists_both_kinds(name: str) -> None:
    assert name in CliRunner().invoke(app, ["policies"]).output
