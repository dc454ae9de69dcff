"""Units that grow until training outweighs what is beside it."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain.budget import Budget
from bhpt.domain.results import UnitResult, Usage
from bhpt.study import MemoryLog, State, fold, priced_view
from bhpt.study.creation import first_events
from bhpt.study.deciding import next_unit
from bhpt.study.folding import apply
from bhpt.study.plan import Training
from bhpt.study.settling import report
from bhpt.study.unit_size import ReportedUnit, unit_size, window
from tests.study.cases import CONFIGS, Greedy, losses_of


def _reports(epoch_s: float, beside_s: float, epochs: int, workers: int) -> list[ReportedUnit]:
    return [ReportedUnit(epochs, epochs * epoch_s, beside_s) for _ in range(window(workers))]


def test_workers_that_start_or_fail_change_nothing() -> None:
    training = Training(1, 100, grows=True)
    recent = _reports(0.1, 0.005, 1, 1)
    slow = replace(recent[0], beside_s=20.0)
    assert unit_size(training, 1, [slow, *recent[1:]], 1) == 1
    assert unit_size(training, 1, [slow, slow, slow, *recent[3:]], 1) == 50


def test_units_that_cost_more_than_most_count_as_far_as_they_are_usual() -> None:
    training = Training(1, 100, grows=True)
    recent = _reports(0.1, 0.02, 1, 1)
    assert unit_size(training, 1, recent, 1) == 4  # 12 times 20 ms is 2.4 epochs: 3, and a quarter
    dearer = replace(recent[0], beside_s=0.04)
    assert unit_size(training, 1, [dearer, dearer, *recent[2:]], 1) == 5  # 3.6 epochs
    assert unit_size(training, 1, [dearer, dearer, dearer, *recent[3:]], 1) == 7  # 4.2 epochs


@settings(deadline=None, max_examples=100)
@given(
    st.floats(0.001, 10),
    st.floats(0, 1),
    st.integers(8, 1000),
    st.sampled_from([1, 2, 5]),
    st.integers(0, 4),
)
def test_units_are_long_enough_but_leave_room_to_stop(
    epoch_s: float, beside_s: float, epochs: int, unit: int, grown: int
) -> None:
    training = Training(unit, epochs, unit, grows=True)
    now = unit * 2**grown
    size = unit_size(training, now, _reports(epoch_s, beside_s, now, 1), 1)
    most = max(1, epochs // 2 // unit) * unit
    assert size % unit == 0
    share = size * epoch_s / (size * epoch_s + beside_s)
    assert share >= 0.92 - 1e-6 or size in (most, now)
    assert size == now or size <= most
    settled = unit_size(training, size, _reports(epoch_s, beside_s, size, 1), 1)
    assert settled == size or size == now


def test_nothing_changes_before_enough_is_known() -> None:
    training = Training(1, 100, grows=True)
    recent = _reports(0.005, 0.05, 1, 2)
    assert unit_size(training, 1, recent[:-1], 2) == 1
    assert unit_size(training, 1, recent, 2) == 50


def _run(budget: str, *, grows: bool, units: int = 40) -> State:
    """Epochs of 10 ms with 40 ms beside each unit, on a clock of its own."""
    training = Training(1, 80, grows=grows)
    state = fold(first_events(CONFIGS, Budget.parse(budget), training=training, trainer={}))
    clock = 0.0
    log = MemoryLog()
    for _ in range(units):
        found = next_unit(state, Greedy(), clock)
        if found is None:
            break
        log.append(found.events, len(log.read()))
        for event in found.events:
            state = apply(state, event)
        unit = found.decided
        clock += 0.01 * unit.epochs + 0.04
        losses = losses_of(state.configs[unit.arm], unit.done, unit.epochs)
        result = UnitResult(tuple(losses), usage=Usage(0.01 * unit.epochs + 0.02, 0.0, 0, 0.02))
        _, observed = report(state, unit.attempt, result, clock)
        assert observed is not None
        state = apply(state, observed)
    return state


def test_units_grow_under_a_deadline_only_where_they_may() -> None:
    grown = _run("60s", grows=True)
    assert grown.unit == 40  # 48 would be enough; half of 80 epochs is the most
    assert {attempt.unit.epochs for attempt in grown.attempts} >= {1, 40}
    assert _run("60s", grows=False).unit == 1


def test_units_of_an_epoch_budget_grow_only_where_waiting_adds_up() -> None:
    assert _run("700 epochs", grows=True).unit == 1  # 684 more units would wait for 27 s
    assert _run("900 epochs", grows=True).unit == 3  # 35 s, so 2 are enough; and a quarter
    assert _run("90000 epochs", grows=True).unit == 40
    assert _run("900 epochs", grows=False).unit == 1


@settings(deadline=None, max_examples=50)
@given(st.floats(0.001, 1), st.floats(0, 1), st.integers(1, 4), st.floats(0, 100_000))
def test_an_epoch_budget_never_has_longer_units_than_a_deadline(
    epoch_s: float, beside_s: float, workers: int, left: float
) -> None:
    training = Training(1, 60, grows=True)
    recent = _reports(epoch_s, beside_s, 1, workers)
    timed = unit_size(training, 1, recent, workers)
    counted = unit_size(training, 1, recent, workers, left)
    assert 1 <= counted <= timed
    waiting = left * beside_s / workers
    if waiting < 30:
        assert counted == 1
    elif counted < timed:
        assert waiting / counted <= 30


def test_units_shrink_near_the_end_so_that_dear_arms_can_still_have_one() -> None:
    grown = _run("60s", grows=True, units=6)
    assert grown.unit == 40

    def unit_with(left: float) -> int:
        used = grown.ledger.budget.amount - left
        looked = priced_view(replace(grown, ledger=grown.ledger.at(used)))
        assert looked is not None
        return looked[0].unit

    sizes = [unit_with(left) for left in (50.0, 1.0, 0.4, 0.2, 0.05)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 40
    assert 1 <= sizes[-1] < sizes[-2] < 40
