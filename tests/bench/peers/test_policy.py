from collections.abc import Iterator

import numpy as np
import pytest

from bhpt.bench.peers.cells import equal_cells
from bhpt.bench.peers.policy import PeerPolicy, distinct, received_losses
from bhpt.bench.peers.process import PeerProcess
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, Misuse, View
from tests.bench.peers.helpers import fake_peer, small_task


@pytest.fixture
def process() -> Iterator[PeerProcess]:
    with fake_peer() as running:
        yield running


def view_of(task: Task, curves: Curves, left: float = 9.0, pending: int | None = None) -> View:
    return View(
        curves=curves,
        unit=task.unit,
        left=left,
        costs=np.ones(task.arms),
        features=task.features,
        untrained=task.untrained,
        pending=np.array([] if pending is None else [pending], np.int64),
    )


def test_an_arm_that_is_asked_for_again_goes_on_where_it_stands(process: PeerProcess) -> None:
    run = simulate(small_task(), PeerPolicy("fake", "ladder", process), 14, 0)
    assert run.arms.tolist() == [0, 1, 2, 3, *[0] * 5, *[1] * 5]


@pytest.mark.parametrize("budget", [1, 3, 7, 24])
def test_the_budget_is_spent_to_the_last_unit_and_no_further(
    process: PeerProcess, budget: int
) -> None:
    run = simulate(small_task(), PeerPolicy("fake", "ladder", process), budget, 0)
    assert len(run.arms) == budget
    assert np.bincount(run.arms, minlength=4).max() <= 6


def test_a_budget_beyond_the_table_ends_with_the_table(process: PeerProcess) -> None:
    run = simulate(small_task(), PeerPolicy("fake", "ladder", process), 99, 0)
    assert len(run.arms) == 24


def test_what_a_peer_leaves_over_goes_to_the_best_arms_in_order(process: PeerProcess) -> None:
    run = simulate(small_task(), PeerPolicy("fake", "halves", process), 16, 0)
    assert sorted(run.arms[:12].tolist()) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert run.arms[12:].tolist() == [0, 0, 0, 1]


def test_a_peer_that_asks_for_nothing_new_is_done(process: PeerProcess) -> None:
    run = simulate(small_task(), PeerPolicy("fake", "stuck", process), 4, 0)
    assert run.arms.tolist() == [2, 2, 2, 2]


def test_points_fall_on_all_arms_equally_often() -> None:
    rng = np.random.default_rng(1)
    points, fresh = rng.beta(0.4, 0.4, size=(60, 7)), rng.uniform(size=(6000, 7))
    distances = ((fresh[:, None] - points) ** 2).sum(axis=-1)
    plain, equal = (
        np.bincount((distances - offsets).argmin(axis=1), minlength=60) / 100
        for offsets in (0.0, equal_cells(points))
    )
    assert plain.max() > 4
    assert equal.max() < 1.8
    assert equal.min() > 0.4


def test_suggestions_become_the_nearest_unused_arm(process: PeerProcess) -> None:
    run = simulate(small_task(), PeerPolicy("fake", "corner", process), 4, 0)
    assert run.arms.tolist() == [3, 2, 1, 0]


def test_units_of_several_epochs_are_counted_as_units(process: PeerProcess) -> None:
    task = small_task(epochs=7, unit=2)  # four units, the last one short
    run = simulate(task, PeerPolicy("fake", "ladder", process), 8, 0)
    assert run.arms.tolist() == [0, 1, 2, 3, 0, 0, 0, 1]


def test_what_the_package_prints_does_not_disturb(process: PeerProcess) -> None:
    run = simulate(small_task(), PeerPolicy("fake", "talkative", process), 4, 0)
    assert sorted(run.arms.tolist()) == [0, 1, 2, 3]


def test_one_process_plays_run_after_run_and_a_seed_repeats_itself(process: PeerProcess) -> None:
    def arms(seed: int) -> list[int]:
        policy = PeerPolicy("fake", "halves", process)
        return list(simulate(small_task(arms=9), policy, 12, seed).arms)

    assert arms(1) == arms(1) != arms(2)


def test_deciding_twice_at_the_same_moment_gives_the_same(process: PeerProcess) -> None:
    task = small_task()
    policy = PeerPolicy("fake", "ladder", process)
    first = policy.decide(view_of(task, Curves.empty(4, 6)))
    assert first is not None
    curves = Curves.empty(4, 6).extend(first.arm, task.losses[first.arm, :1])
    again = [policy.decide(view_of(task, curves, 8.0)) for _ in range(2)]
    assert [decision.arm for decision in again if decision] == [1, 1]
    assert "to 1 units" in (again[0].explanation.why if again[0] else "")


def test_a_history_that_the_peer_has_not_made_is_refused(process: PeerProcess) -> None:
    task = small_task()
    curves = Curves.empty(4, 6).extend(3, task.losses[3, :1])
    with pytest.raises(Misuse, match="has not made itself"):
        PeerPolicy("fake", "ladder", process).decide(view_of(task, curves))


def test_a_run_that_another_has_taken_over_is_refused(process: PeerProcess) -> None:
    task = small_task()
    old, new = (PeerPolicy("fake", "ladder", process) for _ in range(2))
    decision = old.decide(view_of(task, Curves.empty(4, 6)))
    new.decide(view_of(task, Curves.empty(4, 6)))
    assert decision is not None
    curves = Curves.empty(4, 6).extend(decision.arm, task.losses[decision.arm, :1])
    with pytest.raises(Misuse, match="another has begun"):
        old.decide(view_of(task, curves, 8.0))


def test_one_unit_at_a_time(process: PeerProcess) -> None:
    view = view_of(small_task(), Curves.empty(4, 6), pending=1)
    with pytest.raises(Misuse, match="one unit at a time"):
        PeerPolicy("fake", "ladder", process).decide(view)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("mistaken", "peer fake failed: RuntimeError: surrogate model is singular"),
        ("killed", "peer fake has ended: a last word"),
        ("no-such-method", "peer fake failed: KeyError: 'no-such-method'"),
    ],
)
def test_a_peer_that_breaks_is_one_clear_line(process: PeerProcess, method: str, said: str) -> None:
    with pytest.raises(Misuse) as caught:
        simulate(small_task(), PeerPolicy("fake", method, process), 9, 0)
    assert str(caught.value) == said


def test_a_peer_that_does_not_answer_is_ended() -> None:
    with fake_peer(patience_s=1.0) as process:
        policy = PeerPolicy("fake", "silent", process)
        with pytest.raises(Misuse, match="did not answer within 1 s"):
            simulate(small_task(), policy, 9, 0)
    assert not process.alive


def test_a_package_that_cannot_be_imported_is_one_clear_line() -> None:
    with pytest.raises(Misuse, match="peer fake failed: ModuleNotFoundError"):
        fake_peer("no_such_adapter")


def test_a_peer_hears_the_lowest_loss_so_far_and_no_worse_than_untrained() -> None:
    task = small_task(arms=1, epochs=7, unit=2)
    losses = np.array([np.nan, 3.0, 0.5, np.inf, 0.7, 0.4, 0.9])
    curves = Curves.empty(1, 7).extend(0, losses)
    assert received_losses(view_of(task, curves), 0) == [1.0, 0.5, 0.4, 0.4]
    assert received_losses(view_of(task, Curves.empty(1, 7)), 0) == []


def test_equal_configurations_are_moved_apart_within_the_cube() -> None:
    features = np.array([[1.0, 0.0], [0.2, 0.0], [1.0, 0.0], [0.2, 0.0], [1.0, 0.0]])
    moved = distinct(features)
    assert len({tuple(row) for row in moved.tolist()}) == 5
    assert np.abs(moved - features).max() < 1e-3
    assert moved.min() >= 0
    assert moved.max() <= 1
