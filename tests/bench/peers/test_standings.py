import csv
from pathlib import Path

import numpy as np
import pytest

from bhpt.bench.metrics import Score
from bhpt.bench.peers.markdown import markdown
from bhpt.bench.peers.standings import ALL, SuiteComparison, ranked, resampled, write_csv
from bhpt.bench.peers.suites import Suite
from bhpt.bench.table import ResultRow, RunKey


def row(task: str, policy: str, seed: int, regret: float, budget: int = 10) -> ResultRow:
    return ResultRow(RunKey(task, policy, budget, seed), Score(0.0, regret, 0, 0, 0, 0.0, 5.0))


SUITES = (Suite("a", ("a1", "a2")), Suite("b", ("b1",)))


def comparison(rows: list[ResultRow]) -> SuiteComparison:
    return SuiteComparison(rows, SUITES, ("x", "y", "z"))


def rows_of(regrets: dict[str, tuple[float, float, float]], seed: int = 0) -> list[ResultRow]:
    return [
        row(task, policy, seed, regret)
        for task, three in regrets.items()
        for policy, regret in zip("xyz", three, strict=True)
    ]


def test_ranks_share_ties() -> None:
    regret = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.1], [0.2, 0.2, 0.2]])
    assert ranked(regret).tolist() == [[1, 2, 3], [2.5, 2.5, 1], [2, 2, 2]]


def test_the_bootstrap_of_a_mean_has_the_spread_of_a_mean() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(2.0, 0.5, size=(400, 1))
    drawn = resampled(values, rng)[:, 0]
    assert drawn.mean() == pytest.approx(values.mean(), abs=0.005)
    assert drawn.std() == pytest.approx(values.std() / 20, rel=0.1)


def test_an_interval_is_as_wide_as_theory_says() -> None:
    rng = np.random.default_rng(4)
    draws = rng.normal(1.0, 0.3, size=200)
    rows = [row("b1", p, seed, float(v)) for seed, v in enumerate(draws) for p in "xyz"]
    found = next(s for s in comparison(rows).standings() if s.suite == "b")
    half = 1.96 * draws.std() / np.sqrt(200)
    assert found.regret.mean == pytest.approx(draws.mean())
    assert found.regret.high - found.regret.mean == pytest.approx(half, rel=0.15)
    assert found.regret.mean - found.regret.low == pytest.approx(half, rel=0.15)
    assert (found.rank.mean, found.rank.low, found.rank.high) == (2.0, 2.0, 2.0)


def test_all_together_weighs_suites_in_regret_and_blocks_in_rank() -> None:
    rows = rows_of({"a1": (0.1, 0.2, 0.3), "a2": (0.3, 0.2, 0.1), "b1": (0.8, 0.4, 0.6)})
    by = {(s.suite, s.policy): s for s in comparison(rows).standings()}
    assert by["a", "x"].regret.mean == pytest.approx(0.2)
    assert by[ALL, "x"].regret.mean == pytest.approx((0.2 + 0.8) / 2)
    assert by[ALL, "x"].rank.mean == pytest.approx((1 + 3 + 3) / 3)
    assert by[ALL, "y"].rank.mean == pytest.approx((2 + 2 + 1) / 3)
    assert by[ALL, "x"].blocks == 3
    assert by["a", "x"].step_s == pytest.approx(0.5)


def test_a_block_that_a_policy_has_not_run_is_left_out() -> None:
    rows = rows_of({"a1": (0.1, 0.2, 0.3), "a2": (0.3, 0.2, 0.1)})
    found = comparison(rows[:-1]).standings()
    assert {(s.suite, s.blocks) for s in found} == {("a", 1), (ALL, 1)}


def test_the_gap_is_to_the_best_other_and_paired() -> None:
    rows = [
        made
        for seed in range(20)
        for made in rows_of({"b1": (0.1 * seed, 0.1 * seed + 0.05, 0.1 * seed + 0.2)}, seed)
    ]
    gap = next(g for g in comparison(rows).gaps("x") if g.suite == "b")
    assert gap.rival == "y"
    assert gap.difference.mean == pytest.approx(-0.05)
    assert gap.difference.low == pytest.approx(-0.05)  # the seeds' spread is common to both
    assert gap.difference.high == pytest.approx(-0.05)
    behind = next(g for g in comparison(rows).gaps("z") if g.suite == "b")
    assert behind.rival == "x"
    assert behind.difference.mean == pytest.approx(0.2)


def test_the_summary_can_be_read_back(tmp_path: Path) -> None:
    found = comparison(rows_of({"a1": (0.1, 0.2, 0.3)})).standings()
    write_csv(found, tmp_path / "summary.csv")
    with (tmp_path / "summary.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(found) == 6
    assert lines[1]["policy"] == "y"
    assert float(lines[1]["regret"]) == 0.2
    assert float(lines[1]["rank_low"]) == 2.0


def test_markdown_marks_the_best_of_each_column() -> None:
    compared = comparison(rows_of({"a1": (0.1, 0.2, 0.3), "b1": (0.3, 0.1, 0.2)}))
    text = markdown(compared.standings(), compared.gaps("x"))
    assert "| y | **0.1000** | 500 |" in text
    assert "| x | 0.2000 | 500 |" in text
    assert "| a | 10 | y | -0.1000 | -0.1000 to -0.1000 |" in text
