"""What a study's own policy, played in the draws, predicts of its end, beside the stand-in.

`status` and `forecast` draw how curves may go on and let a stand-in spend what is left in each draw
(`bhpt.reports.worlds`). Here the policy of the study is played instead, decision by decision, now
and at the moments of the study's past from which its trust follows (`bhpt.reports.hindsight`);
everything else is the same. Studies are those of `default` on tables of kinds that its networks
have not seen; they predict their end at a quarter, half and three quarters of their budget.

    python -m benchmarks.own_policy --data runs/tables --networks FOLDER,FOLDER --tables 1

Prints, for both ways, how many 90% intervals held, the median of predicted over actual gain, by
which factor it is typically wrong, and the processor seconds of a prediction; then by how much the
own policy differs in the logarithm of that factor, study by study, with a 95% interval.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.policy.options import listed
from bhpt.beliefs.predictor import Predictor, scale_free
from bhpt.bench.catalogue import load
from bhpt.bench.left_out_kinds import fold_for, tables_by_kind, with_fold
from bhpt.bench.paper.evidence import interval
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray, Memory, Misuse
from bhpt.policies.interface import Policy
from bhpt.policies.played import draw_worlds_of_all, play
from bhpt.policies.registry import make_policy
from bhpt.policies.study_predictor import predictor_of
from bhpt.reports.factors import Factors
from bhpt.reports.hindsight import trust
from bhpt.reports.prediction import predict_study
from bhpt.reports.records import Records
from bhpt.reports.worlds import GainTrust, expected_end, look_at, spent_on_epochs
from bhpt.study import State, Study
from bhpt.study.threads import one_thread

MOMENTS = (0.25, 0.5, 0.75)  # of the budget
_NOW, _PAST = 16, 8  # draws, for a prediction and for each moment of the past
_SEED = 2
_LEAST = 1e-3  # predicted over actual gain: less is as wrong as it gets


@dataclass(frozen=True)
class Said:
    """What one way predicted: the expected loss, the low end of its interval, and the seconds."""

    expected: float
    low: float
    seconds: float


@dataclass(frozen=True)
class Pair:
    """A moment of a study.

    Attributes:
        study: Which study.
        best: The best loss so far.
        stand_in: What is predicted with the stand-in.
        own: And with the policy of the study.
        reached: The best loss at its end.
    """

    study: str
    best: float
    stand_in: Said
    own: Said
    reached: float = np.nan


Way = Callable[[Pair], Said]
WAYS: dict[str, Way] = {
    "stand-in": lambda pair: pair.stand_in,
    "own policy": lambda pair: pair.own,
}


def own_policy_losses(
    state: State, policy: Policy, predictor: Predictor, draws: int
) -> FloatArray | None:
    """The best loss at the end of what is left, one a draw, [S]; None if nothing can go on."""
    looked = look_at(state, 0.0)
    if looked is None:
        return None
    view = replace(looked[0], memory=Memory())
    factors = Factors.of(view) if scale_free(predictor) else None
    shown = view if factors is None else factors.seen(view)
    rng = np.random.default_rng((state.plan.seed, _SEED))
    worlds = draw_worlds_of_all(shown, predictor.predict(shown), draws, rng)
    if worlds is None:
        return None
    worlds, memory = worlds if factors is None else factors.losses(worlds), Memory()
    return np.array([play(view, policy, world, memory).loss for world in worlds])


def by_own_policy(state: State, policy: Policy, predictor: Predictor) -> tuple[float, float] | None:
    """Expected best loss at the end and the low end of its interval, by the policy itself."""
    losses, looked = own_policy_losses(state, policy, predictor, _NOW), look_at(state, 0.0)
    if losses is None or looked is None or state.best is None:
        return None

    def promise(before: State, predictor: Predictor) -> float | None:
        played = own_policy_losses(before, policy, predictor, _PAST)
        gain = 0.0 if played is None or before.best is None else before.best.loss - played.mean()
        return float(gain) if gain > 0 else None

    trusted = trust(state, predictor, promise)
    view = looked[0]
    gain_trust = GainTrust(state.best.loss, trusted, view.curves.lowest_possible)
    records = Records.of(view, spent_on_epochs(state))
    return expected_end(losses, gain_trust, records, view.left)


def predicted(name: str, state: State, policy: Policy) -> Pair | None:
    """What both ways predict of a study; None where nothing is."""
    predictor = predictor_of(policy)
    if state.best is None:
        return None
    with one_thread():
        started = time.process_time()
        usual = predict_study(state, predictor)
        between = time.process_time()
        own = by_own_policy(state, policy, predictor)
        ended = time.process_time()
    if usual is None or own is None:
        return None
    stand_in = Said(usual.final.middle, usual.final.low, between - started)
    return Pair(name, state.best.loss, stand_in, Said(*own, ended - between))


def studied(task: Task, policy: str, budget: int, seed: int) -> list[Pair]:
    """Tune a table, and predict its end on the way."""
    configs = [dict(config) for config in task.configs]
    study = Study(
        configs,
        f"{budget * task.unit} epochs",
        unit=task.unit,
        max_epochs=task.epochs,
        seed=seed,
        policy=policy,
        untrained=task.untrained,
    )
    made, found, left = make_policy(policy), [], list(MOMENTS)
    while (unit := study.ask()) is not None:
        losses = task.losses[configs.index(unit.config), unit.done : unit.done + unit.epochs]
        study.tell(unit, losses.tolist())
        ledger = study.state.ledger
        if left and ledger.used / ledger.budget.amount >= left[0]:
            left.pop(0)
            found.append(predicted(f"{task.name} {budget} {seed}", study.state, made))
    best = study.state.best
    return [] if best is None else [replace(one, reached=best.loss) for one in found if one]


def log_factor(pair: Pair, said: Said) -> float:
    """By which factor a predicted gain is wrong, its logarithm; NaN where nothing was gained."""
    came = pair.best - pair.reached
    if not came > 0:
        return float("nan")
    return float(abs(np.log(max((pair.best - said.expected) / came, _LEAST))))


def lines(pairs: Sequence[Pair]) -> Iterator[str]:
    """What is printed."""
    gained = [pair for pair in pairs if pair.best > pair.reached]
    for name, way in WAYS.items():
        held = np.mean([way(pair).low <= pair.reached for pair in pairs])
        ratios = [(p.best - way(p).expected) / (p.best - p.reached) for p in gained]
        wrong = np.exp(np.mean([log_factor(pair, way(pair)) for pair in gained]))
        seconds = np.mean([way(pair).seconds for pair in pairs])
        yield (
            f"{name}: {len(pairs)} predictions, {held:.0%} of 90% intervals held, median of "
            f"predicted over actual gain {np.median(ratios):.2f}, wrong by a factor of "
            f"{wrong:.1f}, {seconds:.2f} s"
        )
    apart: dict[str, list[float]] = {}
    for pair in gained:
        apart.setdefault(pair.study, []).append(
            log_factor(pair, pair.own) - log_factor(pair, pair.stand_in)
        )
    mean = interval(np.array([np.mean(one) for one in apart.values()]))
    yield f"logarithm of the factor, own policy less stand-in: {mean.text(2, signed=True)}"


def main() -> None:
    """Tune, predict and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of tables")
    parser.add_argument("--networks", required=True, help="folders of networks, with commas")
    parser.add_argument("--tables", type=int, default=1, help="of each kind, at most")
    parser.add_argument("--budgets", default="60,200", help="units")
    asked = parser.parse_args()
    folds, pairs = [Path(one) for one in listed(asked.networks)], []
    for kind, names in tables_by_kind(asked.data, asked.tables).items():
        for name in names:
            try:
                policy = with_fold("default", fold_for(name, kind, folds))
            except Misuse as unknown:
                print(unknown, flush=True)
                continue
            for budget in map(int, listed(asked.budgets)):
                pairs += studied(load(name, 0, asked.data), policy, budget, 0)
                print(f"{len(pairs)} predictions, {name} {budget} last", flush=True)
    for line in lines(pairs):
        print(line)


if __name__ == "__main__":
    main()
