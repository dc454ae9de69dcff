"""`bhpt bench paper` and `bhpt bench figures`: a tiny plan, verdicts on made-up results, a page."""

import base64
import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bhpt.bench import figure_style, figures
from bhpt.bench.baselines import smac
from bhpt.bench.groups import Groups, GroupShare, group_shares
from bhpt.bench.metrics import Score
from bhpt.bench.paper import action_value, claims, plan, tables
from bhpt.bench.paper.behind import behind_by_chance, surely_behind
from bhpt.bench.paper.claim import PaperClaim
from bhpt.bench.paper.evidence import PaperEvidence, interval
from bhpt.bench.paper.report import about_run, write_report
from bhpt.bench.paper.tables import seeds_table
from bhpt.bench.simulate import Trajectory
from bhpt.bench.table import ResultRow, Results, RunKey
from bhpt.bench.tasks import PACKAGED, Task, packaged
from bhpt.cli.main import app
from bhpt.domain import Misuse

TINY = plan.Scope(
    "tiny",
    2,
    2,
    (4, 8),
    (1, 2),
    real_methods=("bhpt", "bhpt-eps", "hyperband", "random"),
    tasks=("arch2_cifar10",),
    long_tasks=("arch2_cifar10@6",),
)


def quiet(done: int, total: int, row: ResultRow | None) -> None:
    """No progress."""


def row(
    policy: str, budget: int, seed: int, regret: float, task: str = "synthetic", **more: float
) -> ResultRow:
    score = Score(
        loss=more.get("loss", 1 + regret),
        regret=regret,
        top1=0,
        top3=int(more.get("top3", 0)),
        top5=int(more.get("top5", 1)),
        share=more.get("share", 0.5),
        decision_s=more.get("decision_s", 0.1),
    )
    return ResultRow(RunKey(task, policy, budget, seed), score)


def rows_of(
    means: Mapping[str, Sequence[float]],
    budgets: Sequence[int],
    seeds: int = 20,
    noise: float = 0.002,
) -> list[ResultRow]:
    """Rows whose regrets lie about the given means, one mean a budget."""
    rng = np.random.default_rng(0)
    made = []
    for policy, of_policy in means.items():
        for budget, mean in zip(budgets, of_policy, strict=True):
            made += [
                row(policy, budget, seed, float(mean + noise * rng.normal()))
                for seed in range(seeds)
            ]
    return made


# shares by family


def test_shares_by_family_are_written_once_and_read_back(tmp_path: Path) -> None:
    task = Task("t", np.ones((3, 4)), 2.0, 1, np.zeros((3, 1)), groups=("a", "b", "b"))
    run = RunKey("t", "bhpt", 4, 0)
    shares = group_shares(task, run, Trajectory(np.array([0, 1, 2, 2]), np.ones(4), 0.0))
    assert [(s.group, s.share) for s in shares] == [("a", 0.25), ("b", 0.75)]
    groups = Groups(tmp_path)
    assert groups.rows() == []
    groups.append(())
    assert not groups.path.exists()
    groups.append(shares)
    Groups(tmp_path).append(shares)  # an interrupted benchmark ran it again
    assert Groups(tmp_path).rows() == list(shares)
    groups.path.write_text("nonsense\n")
    with pytest.raises(Misuse, match="not a table"):
        groups.rows()


def test_tasks_without_families_have_no_shares() -> None:
    task = Task("t", np.ones((2, 2)), 2.0, 1, np.zeros((2, 1)))
    assert (
        group_shares(task, RunKey("t", "p", 1, 0), Trajectory(np.array([0]), np.ones(1), 0.0)) == ()
    )


def test_the_second_architecture_table_crosses() -> None:
    """The slow family is behind at first and ends lower: what the paper's last figure needs."""
    task = packaged("arch2_cifar10")
    families = np.array(task.groups)
    slow, fast = task.losses[families == "resnet"], task.losses[families == "alexnet"]
    assert slow[:, :2].min() > fast[:, :2].min()
    assert slow.min() < fast.min() - 0.02
    assert "arch2_cifar10" in PACKAGED


# intervals and verdicts


def test_intervals_are_students() -> None:
    found = interval(np.array([10.0, 11.0, 12.0]))
    assert found.mean == 11.0
    assert found.high - 11 == pytest.approx(4.302653 / np.sqrt(3), rel=1e-5)
    assert found.above
    assert not found.below
    assert interval(np.array([-3.0, -2.0, -1.0])).text(1) == "−2.0 ± 2.5"
    assert found.text(0, signed=True) == "+11 ± 2"
    single = interval(np.array([1.0]))
    assert single.high == np.inf
    assert single.text() == "1.000"


def test_differences_are_taken_seed_by_seed() -> None:
    evidence = PaperEvidence(
        [row("a", 5, s, 0.1 * s) for s in range(5)]
        + [row("b", 5, s, 0.1 * s + 0.05) for s in range(4)]
    )
    gap = evidence.difference("synthetic", "a", "b", 5)
    assert gap.mean == pytest.approx(-0.05)
    assert gap.seeds == 4
    assert gap.below
    assert evidence.budgets("synthetic", "a", "b") == [5]
    assert evidence.budgets("synthetic", "a", "c") == []


def verdict_of(rows: list[ResultRow], claim: str) -> PaperClaim:
    return {
        "vanishing": claims.vanishing_regret,
        "lowest": claims.lowest_on_synthetic,
        "bo": claims.bo_against_hyperband,
        "rollout": claims.rollout_like_hyperband,
        "exhaustion": claims.exhaustion_rule,
        "sampled": claims.sampled_hypers,
        "times": claims.decision_times,
    }[claim](PaperEvidence(rows))


BUDGETS = (8, 32, 100)
PAPER_LIKE = {
    "bhpt": (0.10, 0.03, 0.001),
    "bhpt-eps": (0.11, 0.04, 0.002),
    "rollout": (0.2, 0.15, 0.1),
    "hyperband": (0.2, 0.15, 0.1),
    "gp-ei": (0.15, 0.15, 0.15),
    "q-alone": (0.2, 0.1, 0.05),
    "q-eps-alone": (0.12, 0.05, 0.01),
    "bhpt-sampled": (0.10, 0.03, 0.001),
}


@pytest.mark.parametrize("claim", ["vanishing", "lowest", "bo", "rollout", "exhaustion", "sampled"])
def test_claims_hold_where_the_numbers_are_the_papers(claim: str) -> None:
    assert verdict_of(rows_of(PAPER_LIKE, BUDGETS), claim).verdict == "holds"


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("vanishing", {"bhpt": (0.1, 0.08, 0.07)}),
        ("lowest", {"rollout": (0.01, 0.01, 0.01)}),
        ("bo", {"gp-ei": (0.3, 0.2, 0.01)}),
        ("rollout", {"rollout": (0.01, 0.01, 0.01)}),
        ("exhaustion", {"q-alone": (0.05, 0.01, 0.0)}),
        ("sampled", {"bhpt-sampled": (0.3, 0.3, 0.3)}),
    ],
)
def test_claims_fail_where_the_numbers_say_so(
    claim: str, changed: dict[str, Sequence[float]]
) -> None:
    found = verdict_of(rows_of({**PAPER_LIKE, **changed}, BUDGETS), claim)
    assert found.verdict == "does not hold", found


@pytest.mark.parametrize("claim", ["lowest", "bo", "exhaustion", "sampled"])
def test_claims_stay_open_on_noise(claim: str) -> None:
    rows = rows_of(dict.fromkeys(PAPER_LIKE, (0.2, 0.2, 0.2)), BUDGETS, seeds=3, noise=0.2)
    assert verdict_of(rows, claim).verdict in ("open", "partly")


def test_claims_without_runs_say_so() -> None:
    for claim in ("vanishing", "lowest", "bo", "rollout", "exhaustion", "sampled", "times"):
        assert verdict_of([row("random", 5, 0, 0.1)], claim).verdict == "not run"


def test_the_slow_family() -> None:
    def shares(policy: str, means: Sequence[float]) -> list[GroupShare]:
        task, group = claims.SLOW
        return [
            GroupShare(RunKey(task, policy, budget, seed), group, mean + 0.01 * seed)
            for budget, mean in zip(BUDGETS, means, strict=True)
            for seed in range(5)
        ]

    rising = shares("bhpt", (0.2, 0.5, 0.8)) + shares("hyperband", (0.5, 0.5, 0.5))
    falling = shares("bhpt", (0.8, 0.5, 0.2)) + shares("hyperband", (0.5, 0.5, 0.5))
    assert claims.slow_family(rising).verdict == "holds"
    assert claims.slow_family(falling).verdict == "does not hold"
    dips = shares("bhpt", (0.2, 0.1, 0.8)) + shares("hyperband", (0.5, 0.5, 0.5))
    assert claims.slow_family(dips).verdict == "partly"
    assert claims.slow_family([]).verdict == "not run"
    assert claims.slow_family(rising, task=claims.SLOW_LONG).verdict == "not run"


def test_a_share_is_not_judged_where_the_family_is_too_small_for_the_budget() -> None:
    task, group = claims.SLOW_LONG, claims.SLOW[1]
    assert claims.family_units(task, group) == 24 * 8
    shares = [
        GroupShare(RunKey(task, policy, budget, seed), group, share + 0.001 * seed)
        for policy, all_of_it in (("bhpt", (0.5, 0.7, 0.6)), ("hyperband", (0.5, 0.5, 0.5)))
        for budget, share in zip((80, 160, 320), all_of_it, strict=True)
        for seed in range(5)
    ]
    claim = claims.slow_family(shares, task=task)
    assert claim.verdict == "holds"
    assert "B = 320, where none can have more than 0.60: 0.60" in claim.measured
    assert claims.slow_family([s for s in shares if s.run.budget > 80], task=task).verdict == (
        "not run"
    )


def test_shares_are_compared_seed_by_seed() -> None:
    """Seeds far apart from each other, every one of them a little lower with the next budget."""
    task, group = claims.SLOW
    shares = [
        GroupShare(RunKey(task, policy, budget, seed), group, 0.2 * seed + added)
        for policy in ("bhpt", "hyperband")
        for budget, added in zip(BUDGETS, (0.05, 0.04, 0.15), strict=True)
        for seed in range(5)
    ]
    steady = [replace(s, share=0.5) if s.run.policy == "hyperband" else s for s in shares]
    claim = claims.slow_family(steady)
    assert "−0.01 ± 0.00, +0.11 ± 0.00" in claim.measured
    assert claim.verdict == "partly"


def test_decision_times_are_set_beside_the_papers() -> None:
    rows = [
        row(policy, 100, seed, 0.1, decision_s=seconds)
        for policy, seconds in {
            "bhpt": 0.1,
            "hyperband": 0.05,
            "gp-ei": 0.2,
            "rollout": 5.0,
            "x": 1.0,
        }.items()
        for seed in range(2)
    ]
    claim = verdict_of(rows, "times")
    assert claim.verdict == "holds"
    assert "rollout 5.00 s (201× faster)" in claim.measured
    table = tables.timing_table(claims.timings(PaperEvidence(rows), ("rollout", "x")))
    assert table.rows[0][0] == "x"
    assert table.rows[1] == ("Rollout", "5", "2", "1007.06", "201×")


# figures


def test_figures_of_whatever_is_there(tmp_path: Path) -> None:
    results = Results(tmp_path)
    for one in rows_of(PAPER_LIKE, BUDGETS, seeds=2):
        results.append(one)
    Groups(tmp_path).append((GroupShare(RunKey("synthetic", "bhpt", 8, 0), "resnet", 0.5),))
    done = CliRunner().invoke(app, ["bench", "figures", str(tmp_path)])
    assert done.exit_code == 0, done.output
    names = {path.stem for path in (tmp_path / "figures").glob("*.png")}
    assert names == {
        "regret",
        "loss",
        "hits_synthetic",
        "share_synthetic",
        "exhaustion_synthetic",
        "sampled_synthetic",
        "group_resnet",
    }
    assert {p.stem for p in (tmp_path / "figures").glob("*.svg")} == names


def test_figures_of_nothing_are_a_clear_line(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"no results\.csv"):
        figures.draw_all(tmp_path)
    Results(tmp_path)
    with pytest.raises(Misuse, match="no rows"):
        figures.draw_all(tmp_path)


def test_missing_matplotlib_is_a_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Misuse, match=r"pip install 'bhpt\[plots\]'"):
        figure_style.check()


def test_policies_keep_their_order_and_strangers_follow() -> None:
    assert figure_style.in_order(["x", "hyperband", "bhpt", "x"]) == ["bhpt", "hyperband", "x"]
    assert figure_style.style_of("x").label == "x"


def test_the_action_value_is_drawn_at_an_exploring_step(tmp_path: Path) -> None:
    moment = action_value.find_moment()
    assert moment.top != moment.rival
    assert moment.value[moment.rival] == pytest.approx(moment.value.min())
    s = (moment.mean[moment.top] - moment.mean[moment.rival]) / moment.deviation[moment.rival]
    phi = np.exp(-0.5 * s**2) / np.sqrt(2 * np.pi)
    from scipy.special import ndtr

    worth = moment.deviation[moment.rival] * (s * ndtr(s) + phi)
    assert moment.worth[moment.rival] == pytest.approx(worth)
    action_value.write_csv(moment, tmp_path / "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 85


# the whole


def test_budgets_go_from_a_tenth_of_the_arms_and_stop_at_the_optimum() -> None:
    assert plan.FULL.budgets("resnet_cifar10")[:3] == (10, 20, 40)
    assert plan.FULL.budgets("fcnet_mnist")[0] == 5
    assert plan.FULL.budgets("synthetic")[0] == 8
    assert claims.TIMED_BUDGET in plan.FULL.synthetic_budgets
    assert claims.TIMED_BUDGET in plan.QUICK.synthetic_budgets
    assert plan.FULL.synthetic_seeds == 100
    assert plan.FULL.real_seeds == 10


def test_bhpt_climbs_until_it_has_found_the_optimum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RunKey] = []

    def pretend(wanted: list[RunKey], *_: object) -> list[ResultRow]:
        asked.extend(wanted)
        return [
            row("bhpt", run.budget, run.seed, 0.0 if run.budget >= 10 else 0.2, run.task)
            for run in wanted
        ]

    monkeypatch.setattr(plan, "run_missing", pretend)
    scope = replace(TINY, synthetic_budgets=(4, 8, 16, 32), tenths=(1, 2, 4))
    collected = plan.collect(scope, tmp_path, 1, quiet)
    assert collected.budgets == {
        "synthetic": (4, 8, 16),
        "arch2_cifar10": (5, 10),
        "arch2_cifar10@6": (5, 10),
    }
    assert not any(run.budget == 32 for run in asked)


def test_a_missing_extra_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smac, "available", lambda: False)
    assert plan.left_out() == ("smac",)
    assert "smac" not in plan.FULL.methods("synthetic")
    said = about_run(plan.Collected(plan.QUICK, [], [], {}, plan.left_out()))
    assert any("not installed: smac" in line for line in said)


def test_a_network_that_has_seen_the_tables_is_owned_up_to() -> None:
    def said(scope: plan.Scope) -> str:
        return " ".join(about_run(plan.Collected(scope, [], [], {}, ())))

    assert "no fair rival" in said(plan.FULL)
    assert "no fair rival" not in said(TINY)


def test_the_paper_on_a_tiny_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = ("bhpt", "bhpt-eps", "hyperband", "random")
    monkeypatch.setattr(plan, "METHODS", few)
    monkeypatch.setattr(plan, "VARIANTS", ("q-alone", "q-eps-alone"))
    collected = plan.collect(TINY, tmp_path, 1, quiet)
    expected = 2 * 2 * (len(few) + 2) + 2 * 2 * 2 * len(few)
    assert len(collected.rows) == expected
    assert {s.group for s in collected.shares} == {"alexnet", "resnet"}
    judged = write_report(collected, tmp_path, "bhpt bench paper --out DIR")
    assert len(judged) == 24
    text = (tmp_path / "paper.html").read_text()
    for figure in (
        "regret_synthetic",
        "loss_real",
        "loss_long",
        "architecture_share",
        "action_value",
    ):
        assert (tmp_path / "figures" / f"{figure}.png").stat().st_size > 5000
    embedded = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', text)
    assert len(embedded) == 10
    assert all(b"<svg" in base64.b64decode(data) for data in embedded)
    assert not re.search(r'(src|href)="(?!data:)', text)  # it loads nothing
    with (tmp_path / "data" / "claims.csv").open() as file:
        assert [line["says"] for line in csv.DictReader(file)] == [c.says for c in judged]
    before = (tmp_path / "results.csv").read_text()
    again = plan.collect(TINY, tmp_path, 1, quiet)  # everything is there
    assert (tmp_path / "results.csv").read_text() == before
    assert len(again.rows) == expected


def test_the_page_of_stored_rows_runs_nothing_and_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "run_missing", None)
    results = Results(tmp_path)
    for budget, seeds in ((5, 4), (10, 4), (20, 3)):
        for seed in range(seeds):
            results.append(row("bhpt", budget, seed, 0.1 / budget, "arch2_cifar10"))
    results.append(row("bhpt", 7, 0, 0.1, "another_table"))
    results.append(row("gp-ei", 5, 0, 0.1, "arch2_cifar10"))  # no method of this plan
    collected = plan.stored(TINY, tmp_path)
    assert collected.budgets["arch2_cifar10"] == (5, 10, 20)
    assert len(collected.rows) == 11
    assert seeds_table(collected.rows).rows == (("BHPT", "4 (5 to 10), 3 (20)"),)
    with pytest.raises(Misuse, match="no rows of this evaluation"):
        plan.stored(TINY, tmp_path / "elsewhere")


def test_a_rising_regret_is_found_and_falling_ones_hold() -> None:
    down = rows_of({"bhpt-shapes": [0.3, 0.2, 0.1]}, [5, 10, 20])
    up = rows_of({"bhpt-eps-shapes": [0.3, 0.1, 0.2]}, [5, 10, 20])
    policies = ("bhpt-shapes", "bhpt-eps-shapes")
    good = claims.falling_on_real(PaperEvidence(down), ["synthetic"], "units", policies)
    assert good.verdict == "holds"
    bad = claims.falling_on_real(PaperEvidence([*down, *up]), ["synthetic"], "units", policies)
    assert bad.verdict == "does not hold"
    assert "bhpt-eps-shapes B=10 to 20 +0.1" in bad.measured


# surely behind, and by chance


def test_cells_surely_behind_are_those_of_the_better_of_both() -> None:
    means = {
        "bhpt-shapes": (0.5, 0.1, 0.2),
        "bhpt-eps-shapes": (0.1, 0.3, 0.4),
        "hyperband": (0.2, 0.2, 0.1),
        "random": (0.3, 0.099, 0.1),
    }
    evidence = PaperEvidence(rows_of(means, (5, 10, 20)))
    ours = ("bhpt-shapes", "bhpt-eps-shapes")
    found = surely_behind(evidence, ("synthetic",), ours, ("hyperband", "random", "smac"))
    assert found.cells == 3
    assert len(found.behind) == 1
    assert found.behind[0].startswith("synthetic B=20 bhpt-shapes to hyperband by 0.100")
    assert "random" in found.behind[0]


def test_a_method_as_good_as_the_best_is_surely_behind_in_one_of_forty() -> None:
    """One rival, normal regrets: the upper half of a 95% interval."""
    rng = np.random.default_rng(1)
    cells = [[rng.standard_normal(400)] for _ in range(40)]
    expected, at_most = behind_by_chance(cells, 1, draws=60)
    assert 0.6 < expected < 1.5
    assert expected < at_most <= 5
    better, _ = behind_by_chance(cells, 2, draws=60)
    assert better < expected
