"""Parts of newer jobs: schedules, routing, memories and scores do what they say."""

from importlib import import_module

import numpy as np
import pytest

torch = pytest.importorskip("torch")
batched = import_module("benchmarks.policy.jobs.batched")
experts = import_module("benchmarks.policy.jobs.experts")
offline = import_module("benchmarks.policy.jobs.offline")
state_spaces = import_module("benchmarks.policy.jobs.state_spaces")


def test_a_cycle_rises_from_a_part_and_falls_to_a_part_of_that() -> None:
    cycle = {"schedule": "one-cycle", "warmup": 0.25, "div": 10.0, "div_final": 100.0}
    h = batched.hypers([cycle, {"schedule": "constant"}], "cpu")
    at = {part: batched._falls(h, part).tolist() for part in (1e-9, 0.125, 0.25, 0.625, 1.0)}
    assert [one[0] for one in at.values()] == pytest.approx(
        [0.1, 0.55, 1.0, 0.5005, 0.001], abs=1e-4
    )
    assert at[0.25][1] == at[1.0][1] == 1.0


def test_a_letter_goes_to_its_likeliest_experts_as_far_as_there_is_room() -> None:
    settings = [
        {"rank": 4, "passes": 2, "gain": 100.0, "penalty": 1.0, "other_gain": 0.0},
        {"rank": 4, "passes": 2, "gain": 0.5, "penalty": 1.0, "other_gain": 0.0},
    ]
    logits = torch.randn(2, 40, experts.MOST, generator=torch.Generator().manual_seed(0))
    logits[:, :, 4:] = -1e4
    gates, cost = experts._sent(batched.hypers(settings, "cpu"), logits)
    assert ((gates[0] > 0).sum(dim=1) == 2).all()
    torch.testing.assert_close(gates[0].sum(dim=1), torch.ones(40))
    best = logits[0].argmax(dim=1)
    assert (gates[0].argmax(dim=1) == best).all()
    assert not gates[:, :, 4:].any()
    assert int((gates[1] > 0).sum(dim=0).max()) == 10  # half of 40 letters, two each, four experts
    one = torch.full((2, 40, experts.MOST), -1e4)
    one[:, :, :2] = 5.0
    uneven = experts._sent(batched.hypers(settings, "cpu"), one)[1]
    assert uneven[0] > 1.5 > cost[0] > 0.9


def test_a_kernel_is_what_its_recurrence_remembers() -> None:
    h = batched.hypers([{"rank": 3, "explore_less": 0.01, "explore": 0.2}], "cpu")
    w = state_spaces._layers(h, torch.Generator().manual_seed(1), False, 2, 1)
    kernel = state_spaces._kernel(w, h, 0, 12)[0]
    step = w["ssm0_step"][0].exp().unsqueeze(1)
    inside = torch.complex(-w["ssm0_decay"][0].exp(), w["ssm0_pace"][0])
    read = torch.complex(w["read0"][0, 0], w["read0"][0, 1])
    state = ((inside * step).exp() - 1) / inside
    for at in range(12):
        said = 2 * (read * state)[:, :3].sum(dim=1).real
        torch.testing.assert_close(kernel[:, at], said, rtol=1e-3, atol=1e-4)
        state = (inside * step).exp() * state


def test_an_area_is_the_chance_that_a_strange_row_scores_higher() -> None:
    strange = torch.tensor([True, True, False, False])
    scores = torch.tensor(
        [[4.0, 3, 2, 1], [1.0, 2, 3, 4], [1.0, 1, 1, 1], [4.0, 1, 2, 3], [torch.nan, 1, 2, 3]]
    )
    found = import_module("benchmarks.policy.jobs.anomalies").area(scores, strange)
    assert found[:4].tolist() == [-1.0, 0.0, -0.5, -0.5]
    assert found[4].isnan()


def test_who_finds_everything_alike_has_found_nothing() -> None:
    retrieval = import_module("benchmarks.policy.jobs.retrieval")
    right = torch.arange(30)
    found = retrieval.missed(torch.stack([torch.eye(30), torch.ones(30, 30)]), right)
    assert found.tolist() == [-1.0, 0.0]
    captions = import_module("benchmarks.policy.jobs.captions")
    towers = captions._Towers.__new__(captions._Towers)
    towers.draw, towers.few = torch.Generator(), 0
    both = torch.stack([torch.eye(captions.HELD), torch.ones(captions.HELD, captions.HELD)])
    towers.near = lambda *_: both
    assert towers.measure({}, by_rank=True).tolist() == [-1.0, 0.0]


def test_a_tenth_of_the_error_is_ten_decibels() -> None:
    ratio = import_module("benchmarks.policy.jobs.restoring").noise_ratio(torch.tensor([0.1, 0.01]))
    assert ratio.tolist() == pytest.approx([-10.0, -20.0])


@pytest.mark.parametrize("seed", range(8))
def test_who_knows_what_to_do_earns_more_than_chance(seed: int) -> None:
    world, expert = offline._task(np.random.default_rng(seed))
    draw = torch.Generator().manual_seed(0)

    def earned(knows: float) -> float:
        logs = offline._logged(world, expert, 6400, knows, draw)
        ends = float(logs.ended.sum())
        lasts = 6400 / max(ends, 1.0)
        # a pole that stays up ends seldom, a hill that is climbed often
        return lasts if "pole" in world.about else float(logs.reward.mean())

    assert earned(1.0) > earned(0.0)
