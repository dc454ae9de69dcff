"""The simulator, the metrics, and a benchmark that can be interrupted."""

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bhpt.bench.metrics import reachable, score
from bhpt.bench.runner import BenchmarkPlan, run_plan
from bhpt.bench.simulate import Trajectory, simulate
from bhpt.bench.summary import cells
from bhpt.bench.table import COLUMNS, Results
from bhpt.bench.tasks import Task
from bhpt.cli.main import app
from bhpt.domain import Misuse, View
from bhpt.policies.interface import Decision, Explanation
from bhpt.policies.registry import make_policy

TABLE = Task(
    "t",
    np.array([[5.0, 4.0, 1.0], [3.0, 2.5, 2.4], [np.nan, np.inf, np.nan], [4.0, 3.0, 2.9]]),
    6.0,
    1,
    np.zeros((4, 1)),
)


class Fixed:
    """Runs the arms it was told to, and remembers what it was shown."""

    def __init__(self, arms: list[int]) -> None:
        self.arms = arms
        self.views: list[View] = []

    def decide(self, view: View) -> Decision | None:
        self.views.append(view)
        arm = self.arms[len(self.views) - 1]
        return Decision(arm, Explanation.in_words("told", view.arms))


def test_one_event_a_unit_and_a_hard_stop() -> None:
    policy = Fixed([0, 2, 1, 1, 3])
    run = simulate(TABLE, policy, 4, 0)
    assert run.arms.tolist() == [0, 2, 1, 1]
    np.testing.assert_array_equal(run.losses, [5, np.inf, 3, 2.5])
    assert [v.left for v in policy.views] == [4, 3, 2, 1]
    assert run.best == 2.5
    assert run.output == 1


def test_a_unit_reveals_each_of_its_epochs() -> None:
    task = Task("t", np.array([[5.0, 1.0, 4.0, 3.0, 2.0]]), 6.0, 2, np.zeros((1, 1)))
    policy = Fixed([0, 0, 0])
    run = simulate(task, policy, 3, 0)
    np.testing.assert_array_equal(run.losses, [1, 3, 2])
    np.testing.assert_array_equal(policy.views[2].curves.of_arm(0), [5, 1, 4, 3])


def test_metrics_by_hand() -> None:
    run = Trajectory(np.array([1, 1, 3]), np.array([3.0, 2.5, 4.0]), 0.5)
    np.testing.assert_array_equal(reachable(TABLE, 2), [4, 2.5, np.inf, 3])
    found = score(TABLE, 3, run)
    assert found.loss == 2.5
    assert found.regret == pytest.approx((2.5 - 1) / (6 - 1))
    assert (found.top1, found.top3, found.top5) == (0, 1, 1)
    assert found.share == pytest.approx(2 / 3)
    assert score(TABLE, 2, run).top1 == 1  # with two units arm 1 is the best


def test_no_finite_loss_is_a_regret_of_one() -> None:
    run = Trajectory(np.array([2, 2]), np.array([np.inf, np.inf]), 0.0)
    found = score(TABLE, 2, run)
    assert found.regret == 1.0
    assert (found.top5, found.share) == (0, 0.0)


def test_budget_zero_is_refused() -> None:
    with pytest.raises(Misuse, match="at least one unit"):
        simulate(TABLE, make_policy("random"), 0, 0)


@pytest.mark.parametrize("name", ["random", "bhpt", "next-unit", "default"])
@pytest.mark.parametrize(
    "losses", [[[2.0]], [[2.0], [1.0]], [[np.nan] * 3] * 2, [[1.0] * 4] * 3, [[3.0, 2.0, 1.0]]]
)
def test_tiny_tables_run_to_their_end(name: str, losses: list[list[float]]) -> None:
    """One epoch, one arm, all NaN, constant curves; more budget than there is to train."""
    table = np.array(losses)
    task = Task("t", table, 3.0, 1, np.zeros((len(table), 1)))
    run = simulate(task, make_policy(name), table.size + 3, 0)
    assert len(run.arms) == table.size


PLAN = BenchmarkPlan(("synthetic",), ("random", "hyperband"), (3, 6), 2)


def test_a_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    rows = run_plan(PLAN, tmp_path, 2, lambda done, total, _: told.append((done, total)))
    assert len(rows) == 8
    assert told[0] == (0, 8)
    assert told[-1] == (8, 8)
    path = tmp_path / "results.csv"
    text = path.read_text()
    assert text.splitlines()[0] == ",".join(COLUMNS)
    assert ",".join(COLUMNS) == (
        "task,policy,budget,seed,loss,regret,top1,top3,top5,share,decision_s"
    )
    cut = text.splitlines(keepends=True)
    path.write_text("".join(cut[:5]) + cut[5][:11])  # killed in the middle of a line
    again: list[tuple[int, int]] = []
    rows = run_plan(PLAN, tmp_path, 1, lambda done, total, _: again.append((done, total)))
    assert again[0] == (4, 8)
    with path.open(newline="") as file:
        kept = [(r["task"], r["policy"], r["budget"], r["seed"]) for r in csv.DictReader(file)]
    assert len(kept) == len(set(kept)) == 8
    assert len(rows) == 8
    means = cells(rows, "regret")
    assert means["synthetic", "random", 3].runs == 2


def test_a_foreign_table_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("my,own,notes\n1,2,3\n")
    with pytest.raises(Misuse, match="not a table of this benchmark"):
        run_plan(PLAN, tmp_path, 1, lambda *_: None)
    assert (tmp_path / "results.csv").read_text() == "my,own,notes\n1,2,3\n"
    (tmp_path / "results.csv").write_text(",".join(COLUMNS) + "\nsynthetic,x,1,0,a,b,c,d,e,f,g\n")
    with pytest.raises(Misuse, match="line 2"):
        Results(tmp_path).rows()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["--tasks", "nope"], "unknown task"),
        (["--policies", "nope"], "unknown policy"),
        (["--budgets", "0"], "at least one unit"),
        (["--budgets", "ten"], "whole numbers"),
        (["--budgets", ","], "names nothing"),
        (["--seeds", "0"], "--seeds"),
        (["--arms", "0"], "--arms"),
        (["--jobs", "0"], "--jobs"),
        (["--data", "/nowhere/at/all"], "no such folder"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_made(
    tmp_path: Path, changes: list[str], says: str
) -> None:
    out = tmp_path / "out"
    words = {
        "--tasks": "synthetic",
        "--policies": "random",
        "--budgets": "3",
        "--out": str(out),
        changes[0]: changes[1],
    }
    given = [part for pair in words.items() for part in pair]
    result = CliRunner().invoke(app, ["bench", *given])
    assert isinstance(result.exception, Misuse)
    assert says in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not out.exists()


def test_the_command_prints_a_table_and_where_the_rows_are(tmp_path: Path) -> None:
    words = "bench --tasks synthetic --policies random --budgets 3 --seeds 1 --jobs 1 --out"
    result = CliRunner().invoke(app, [*words.split(), str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "mean normalised regret" in result.output
    assert "1 rows in" in result.output
