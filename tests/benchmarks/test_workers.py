"""Several workers on the virtual clock, under one deadline or in step: what is measured."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import workers
from bhpt.bench.tasks import Task, packaged

CELL = workers.Cell("kind", "vae_mnist", "random", 3, "deadline", 0)


def test_what_is_reachable_is_the_best_of_arms_trained_without_a_pause() -> None:
    task = replace(packaged("vae_mnist"), losses=np.array([[0.9, 0.5, 0.1], [0.8, np.nan, 0.7]]))
    assert workers.reachable(task, np.array([300.0, 60.0])) == 0.5  # two epochs, and all
    assert workers.reachable(task, np.array([60.0, 60.0])) == 0.1
    assert workers.reachable(task, np.array([800.0, 800.0])) == task.untrained
    begun = np.array([600.0, 0.0])
    assert workers.reachable(task, np.array([60.0, 60.0]), begun) == 0.5  # two epochs, to the end
    assert workers.reachable(task, np.array([60.0, 60.0]), np.array([np.inf, 0.0])) == 0.7


@pytest.mark.parametrize("count", [1, 4])
def test_a_study_is_charged_for_what_its_workers_trained(count: int) -> None:
    task = packaged("vae_mnist")
    outcome = workers.run(task, "random", replace(CELL, workers=count))
    assert 0.0 <= outcome.regret <= 1.0
    assert 0.7 < outcome.busy <= 1.0
    usual = workers.epoch_seconds(task.arms, CELL)
    assert outcome.epochs >= count * 12 * 60 * outcome.busy / usual.max()


def test_workers_in_step_have_twelve_epochs_each() -> None:
    outcome = workers.run(packaged("vae_mnist"), "random", replace(CELL, setting="step"))
    assert (outcome.epochs, outcome.busy) == (36, 1.0)


def falling(*rows: list[float]) -> Task:
    """A table of some arms; an untrained model has 1."""
    task = packaged("vae_mnist")
    table = np.array(rows)
    return replace(
        task,
        losses=table,
        untrained=1.0,
        features=task.features[: len(table)],
        tokens=None,
        configs=task.configs[: len(table)],
    )


def parts(outcome: workers.Outcome) -> tuple[float, float, float]:
    return outcome.untried, outcome.late, outcome.dropped


def test_regret_is_of_arms_not_tried_or_begun_late_or_not_trained_on() -> None:
    """One worker has twelve epochs; random search trains one arm after the other to its end."""
    alone = replace(CELL, setting="step", workers=1)
    good, usual = [0.9, 0.5, 0.0], [0.9, 0.5, 0.4]
    untried = workers.run(falling(*[usual] * 4, good), "random", replace(alone, seed=2))
    assert parts(untried) == pytest.approx((0.4, 0.0, 0.0))
    slow, steady = [0.9] * 7 + [0.0], [0.9] * 7 + [0.4]  # the second arm has four epochs
    orders = [
        workers.run(falling(slow, steady), "random", replace(alone, seed=seed)) for seed in range(4)
    ]
    assert {outcome.regret for outcome in orders} == {0.0, 0.4}
    assert all(parts(outcome) == (0.0, outcome.regret, 0.0) for outcome in orders)
    worst_first = [[0.9 - 0.01 * arm, 0.8, 0.0 if not arm else 0.4] for arm in range(12)]
    dropped = workers.run(falling(*worst_first), "asha", alone)
    assert parts(dropped) == pytest.approx((0.0, 0.0, 0.4))


def test_rows_are_kept_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert workers.rows_of(file) == {}
    with file.open("a") as lines:
        lines.write("kind,vae_mnist,random,3,deadline,0,0.25,0.9,40,0.05,0.125\n")
        lines.write("kind,vae_mnist,asha,3,deadline,0,0.5,0.8,41,0.5,0.0\n")
        lines.write("kind,vae_mnist,sh,3")  # interrupted
    rows = workers.rows_of(file)
    assert rows[CELL] == workers.Outcome(0.25, 0.9, 40, 0.05, 0.125)
    shown = list(workers.table(rows, ("random", "asha")))
    assert shown == [
        "| `random` / `asha` | deadline, 3 |",
        "| --- | --- |",
        "| kind | .250 / .500 |",
        "| mean of kinds | .250 / .500 |",
        "| kinds with a higher mean | 0 of 1 |",
        "| kinds surely behind | 0 of 1 |",
        "| kinds surely ahead | 0 of 1 |",
        "| regret of arms never tried | .050 / .500 |",
        "| of arms begun too late | .125 / .000 |",
        "| of arms not trained on | .075 / .000 |",
        "| workers busy | 90% |",
    ]
    step = {replace(cell, setting="step", kind="other"): row for cell, row in rows.items()}
    assert "| kind | .250 / .500 | - |" in workers.table({**rows, **step}, ("random", "asha"))


def test_policies_are_compared_table_by_table() -> None:
    """Tables differ far more than policies, and yet one is surely behind; seeds are averaged."""
    regrets = {"one": (0.11, 0.52, 0.92, 0.31), "other": (0.1, 0.5, 0.9, 0.3)}
    rows = {
        replace(CELL, policy=policy, task=f"{table}", seed=seed): workers.Outcome(
            regret + 0.05 * seed, 1.0, 1, 0.0, 0.0
        )
        for policy, of_tables in regrets.items()
        for table, regret in enumerate(of_tables)
        for seed in (0, 1)
    }
    rows[replace(CELL, policy="one", task="alone")] = workers.Outcome(9.0, 1.0, 1, 0.0, 0.0)
    pairs = workers.regrets(rows, "deadline", 3, ("one", "other"))["kind"]
    assert pairs[0] == pytest.approx((0.135, 0.125))
    found = workers.compared(pairs)
    assert found.apart.above
    assert workers.compared([pair[::-1] for pair in pairs]).apart.below
    assert not workers.compared(pairs[:1]).apart.above
    lines = list(workers.table(rows, ("one", "other")))
    assert lines[2] == "| kind | .490 / .475* |"
    assert "| kinds surely behind | 1 of 1 |" in lines


def test_more_workers_than_arms_have_nothing_to_decide() -> None:
    small = replace(packaged("vae_mnist"), kind="a")  # 49 arms
    tasks = [small, replace(small, kind="b", name="other")]
    found = workers.cells(tasks, 2, (4, 64), ("deadline", "step"), ("asha", "random"))
    assert {cell.workers for cell in found} == {4}
    assert len(found) == len(set(found)) == 2 * 2 * 2 * 2
    alone = workers.cells(tasks[1:], 2, (4, 64), ("deadline", "step"), ("asha", "random"))
    assert alone == [cell for cell in found if cell.kind == "b"]  # whatever else is run


def test_tables_come_kind_by_kind_in_turn(tmp_path: Path) -> None:
    data = tmp_path / "tables"
    data.mkdir()
    for kind, count in (("a", 3), ("b", 1)):
        for number in range(count):
            file = data / f"{kind}_{number}"
            np.savez(file.with_suffix(".npz"), loss=np.ones((2, 3)))
            file.with_suffix(".json").write_text(
                f'{{"kind": "{kind}", "configs": [{{"lr": 1}}, {{"lr": 2}}]}}'
            )
    asked = workers.parser().parse_args(
        ["--data", str(data), "--networks", "x", "--out", "y", "--tables", "2"]
    )
    found = workers.names(asked)
    assert [name[0] for name in found] == ["a", "b", "a"]
    asked.tasks = "lcbench:0,lcbench:1"
    assert workers.names(asked) == ["lcbench:0", "lcbench:1"]
