"""Studies that learn from three others: what is compared."""

import numpy as np

from benchmarks import earlier_studies as bench
from bhpt.bench.simulate import curves_seen, simulate
from bhpt.bench.tasks import packaged
from bhpt.domain import View
from bhpt.policies.interface import Decision
from bhpt.policies.registry import make_policy

TABLES = ("vae_mnist", "fcnet_mnist", "resnet_cifar10", "arch_cifar10", "arch2_cifar10")


class Noted:
    """Notes what views hold of earlier studies."""

    def __init__(self) -> None:
        self.earlier: list[np.ndarray | None] = []

    def decide(self, view: View) -> Decision | None:
        self.earlier.append(view.earlier)
        return None


def test_hyper_parameters_lose_their_names_only() -> None:
    task = packaged("vae_mnist")
    table = bench.nameless(task)
    assert list(table.ranges) == [f"p{k + 1}" for k in range(len(task.hyperparameters))]
    for mine, theirs in zip(table.configs, task.configs, strict=True):
        assert list(mine.values()) == list(theirs.values())
    np.testing.assert_array_equal(table.task.losses, task.losses)


def test_hyper_parameters_may_keep_their_names() -> None:
    task = packaged("vae_mnist")
    table = bench.Setting(None, "random", 3, names=True).table("vae_mnist", 0)
    assert tuple(table.ranges) == table.task.hyperparameters == task.hyperparameters
    assert table.configs[0].keys() == task.configs[0].keys()
    hidden = bench.Setting(None, "random", 3).table("vae_mnist", 0)
    tokens, without = table.task.tokens, hidden.task.tokens
    assert tokens is not None
    assert without is not None
    assert not np.array_equal(tokens, without)


def test_what_a_run_saw_is_what_it_trained() -> None:
    task = packaged("vae_mnist")
    run = simulate(task, make_policy("asha"), 20, 0)
    curves = curves_seen(task, run)
    assert curves.best == run.best
    assert int(curves.counts.sum()) == 20 * task.unit


def test_policies_are_told_what_earlier_studies_expect() -> None:
    task, noted = packaged("vae_mnist"), Noted()
    expected = np.linspace(-0.5, 0.5, task.arms)
    simulate(task, bench.Learning(noted, expected), 2, 0)
    assert len(noted.earlier) == 1
    assert noted.earlier[0] is expected


def test_three_others_are_learned_from() -> None:
    for seed in range(4):
        chosen = [name for name, _ in bench.drawn(TABLES, "vae_mnist", seed)]
        assert len(set(chosen)) == 3
        assert "vae_mnist" not in chosen


def test_all_columns_are_of_the_same_studies() -> None:
    setting = bench.Setting(None, "random", 3)
    found = bench.measured(setting, TABLES[:1], TABLES[:4], TABLES[1:], range(2))
    assert {column: len(regrets) for column, regrets in found.items()} == {
        "without": 2, "with": 2, "exchanged": 2, "turned": 2, "another": 2,
    }  # fmt: skip
    np.testing.assert_array_equal(found["without"], found["with"])  # this policy listens to none


def test_the_interval_of_a_ratio_holds_it_and_is_of_pairs() -> None:
    base = np.random.default_rng(0).gamma(1.0, size=40)
    np.testing.assert_allclose(bench.ratio_interval(0.5 * base, base), (0.5, 0.5))
    low, high = bench.ratio_interval(np.roll(base, 1), base)
    assert low < 1.0 < high


def test_exchanged_ranks_are_the_same_ones_of_other_arms() -> None:
    ranks = np.linspace(-0.5, 0.5, 20)
    for seed in range(3):
        exchanged = bench._exchanged(ranks, seed)
        np.testing.assert_array_equal(np.sort(exchanged), ranks)
        assert abs(float(np.corrcoef(exchanged, ranks)[0, 1])) < 0.6
    assert not np.array_equal(bench._exchanged(ranks, 0), bench._exchanged(ranks, 1))


def test_true_ranks_are_those_within_the_budget() -> None:
    setting = bench.Setting(None, "random", 3, truth=True)
    task = setting.table("vae_mnist", 0).task
    ranks = setting.true_ranks(["vae_mnist"], 0)
    best = task.losses[:, : 3 * task.unit].min(axis=1)
    assert ranks.argmax() == best.argmin()
    assert ranks.argmin() == best.argmax()
    np.testing.assert_allclose([ranks.mean(), ranks.max()], [0.0, 0.5 - 0.5 / task.arms], atol=1e-9)
    np.testing.assert_allclose(setting.true_ranks(["vae_mnist"] * 2, 0), ranks)


def test_bounds_are_two_columns_more() -> None:
    setting = bench.Setting(None, "random", 3, truth=True)
    found = bench.measured(setting, TABLES[:1], ["arch_cifar10"] * 3, (), range(1))
    assert {"true", "own truth"} <= found.keys()
    assert "another" not in found
