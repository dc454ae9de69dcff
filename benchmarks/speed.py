"""`make bench-speed`: how fast decisions are, as ratios measured in one run.

Every line prints what was measured, the yardstick beside it, and the ratio. Machines are noisy:
compare lines of one run, not of two.
"""

import resource
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.scale import loss_at, random_configs
from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.hypers import Hypers, Structure
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance, decay_covariance, remainder
from bhpt.beliefs.scale import Scale
from bhpt.bench.baselines.registry import make_rule
from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.bench.synthetic import EPOCHS, TRUTH, UNIT, UNTRAINED, synthetic
from bhpt.bench.tasks import Task, from_table
from bhpt.domain import Curves, FloatArray, View
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.interface import Decision, Policy
from bhpt.policies.next_unit import NextUnit

TURNS = 3  # of each run that is compared with another
PAPER_S = 11.89  # the paper's seconds of decisions for one run of B = 100
RAW = Scale("identity", running=False)
INDEPENDENT = Hypers(0.0, 1.0, TRUTH.alpha, TRUTH.beta, TRUTH.magnitude, TRUTH.noise)


def best_of(times: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def whole_runs() -> None:
    """Decision time of a run of B = 100 beside the paper's."""
    task = synthetic(0)
    for name in ("bhpt", "next-unit", "bhpt-sampled", "next-unit-sampled"):
        times = 2 if name.endswith("sampled") else 6
        runs = [simulate(task, make_rule(name, task.truth), 100, seed) for seed in range(times)]
        seconds = min(run.decision_s for run in runs)
        print(f"run of B=100, {name:18} {seconds:7.3f} s, the paper's {PAPER_S} s", end=": ")
        print(f"1/{PAPER_S / seconds:.0f}")


def with_shapes() -> None:
    """Processor time of a run of B = 100 with a shape for each arm beside one decay for all.

    Runs of both take turns, and the fastest of each count: other work on the machine then slows
    down neither more than the other.
    """
    for table in ("synthetic", "resnet_cifar10@4"):
        task = load(table, 0)
        for rule in ("bhpt", "bhpt-eps", "next-unit"):
            one = f"{rule}-sampled" if table == "synthetic" else rule
            names = (one, f"{rule}-shapes")
            spent = {name: [np.inf, np.inf] for name in names}
            for seed in (0, 1) * TURNS:
                for name in names:
                    started = time.process_time()
                    simulate(task, make_rule(name, task.truth), 100, seed)
                    spent[name][seed] = min(spent[name][seed], time.process_time() - started)
            plain, shapes = (sum(spent[name]) / 2 for name in names)
            print(
                f"run of B=100 on {table}: {one} {plain:.3f} s, {rule}-shapes {shapes:.3f} s: "
                f"{shapes / plain:.1f} times"
            )


def observed(arms: int, visited: int, counts: int, features: FloatArray, unit: int) -> View:
    """A study with `visited` of its arms observed for `counts` epochs each."""
    rng = np.random.default_rng(0)
    left = (TRUTH.beta / (np.arange(1, EPOCHS + 1) + TRUTH.beta)) ** TRUTH.alpha
    f = rng.standard_normal((visited, 1))
    losses = np.zeros((visited, EPOCHS))
    losses[:, :counts] = (UNTRAINED * left + f * (1 - left))[:, :counts]
    losses[:, :counts] += 0.001 * rng.standard_normal((visited, counts))
    curves = Curves(
        arms=arms,
        epochs=EPOCHS,
        visited=np.arange(visited),
        losses=losses,
        counts=np.full(visited, counts),
        reports=np.stack([np.arange(visited), np.full(visited, counts)], axis=1),
    )
    return View(curves, unit, 100.0, np.ones(arms), features, UNTRAINED)


def dense_prediction(view: View, structure: Structure, hypers: Hypers) -> FloatArray:
    """Means and variances of all future epochs through one joint Gaussian."""
    n = int(view.curves.counts[0])
    arms, epochs = view.arms, view.curves.epochs
    remains = remainder(hypers, epochs)
    within = decay_covariance(remains, hypers, anchored=True)
    left = remains[1 : epochs + 1]
    load = 1 - left
    prior = asymptote_covariance(
        structure.kernel, hypers, view.features, view.features, np.eye(arms)
    )
    seen = np.kron(prior, np.outer(load[:n], load[:n])) + np.kron(np.eye(arms), within[:n, :n])
    cross = np.kron(prior, np.outer(load[n:], load[:n])) + np.kron(np.eye(arms), within[n:, :n])
    mean = UNTRAINED * left + load * hypers.mean
    residual = (view.curves.losses[:, :n] - mean[:n]).reshape(-1)
    factor = cho_factor(seen, lower=True)
    predicted = np.tile(mean[n:], arms) + cross @ cho_solve(factor, residual)
    variance = np.tile(within.diagonal()[n:] + load[n:] ** 2 * prior[0, 0], arms)
    variance = variance - np.einsum("ij,ji->i", cross, cho_solve(factor, cross.T))
    return np.stack([predicted, variance])


def prefix_prediction(view: View, structure: Structure, hypers: Hypers) -> FloatArray:
    """The same through the prefix structure, the factorisation of the grid included."""
    posterior = FreezeThaw(structure, RAW, hypers).condition(view).components[0]
    n = int(view.curves.counts[0])
    arms, times = np.nonzero(np.ones((view.arms, view.curves.epochs - n)))
    return np.stack([posterior.means[:, n:].reshape(-1), posterior.variance(arms, times + n)])


def against_dense() -> None:
    """Every future epoch of 84 arms with 20 observed epochs each, both ways."""
    view = observed(84, 84, 20, np.random.default_rng(1).uniform(size=(84, 2)), UNIT)
    structure = Structure("se", anchored=True)
    fast = best_of(5, lambda: prefix_prediction(view, structure, TRUTH))
    slow = best_of(1, lambda: dense_prediction(view, structure, TRUTH))
    difference = np.abs(
        prefix_prediction(view, structure, TRUTH) - dense_prediction(view, structure, TRUTH)
    ).max()
    print(
        f"84 arms × 268 future epochs: dense {slow:.3f} s, prefix {1e3 * fast:.1f} ms: "
        f"{slow / fast:.0f} times faster, largest difference {difference:.1e}"
    )


def one_more(view: View, arm: int) -> View:
    """The view after one more unit of an arm."""
    n = int(view.curves.count_by_arm[arm])
    unit = np.full(min(view.unit, view.curves.epochs - n), 1.0)
    return replace(view, curves=view.curves.extend(arm, unit))


def decision_seconds(policy: Policy, view: View) -> float:
    """One decision in the middle of a study: the belief has seen the view before the last unit."""
    policy.decide(view)
    views = [one_more(view, arm) for arm in range(3)]
    return min(best_of(1, lambda v=v: policy.decide(v)) for v in views)  # type: ignore[misc]


class Timed:
    """A policy with the processor seconds of each of its decisions.

    Args:
        policy: It.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.seconds: list[float] = []

    def decide(self, view: View) -> Decision | None:
        """The policy's decision."""
        started = time.thread_time()
        decision = self._policy.decide(view)
        self.seconds.append(time.thread_time() - started)
        return decision


def named_task(arms: int) -> Task:
    """A table of arms with named hyper-parameters, whose curves come from a formula."""
    configs = random_configs(arms, 0)
    table = np.array([[loss_at(config, epoch) for epoch in range(51)] for config in configs])
    return from_table("formula", table, configs, 1)


def default_decisions() -> None:
    """A decision of the default, in whole studies.

    A study is run several times and takes the same decisions each time; of each decision the
    fastest time counts, so that other work on the machine does not.
    """
    for arms, units in ((100, 20), (100, 100), (100, 400), (1000, 100), (1000, 400), (2000, 100)):
        task, policy, spent = named_task(arms), make_rule("default"), []
        for _ in range(TURNS):
            timed = Timed(policy)
            simulate(task, timed, units, 0)
            spent.append(timed.seconds)
        seconds = 1e3 * np.min(spent, axis=0)
        print(
            f"default, {arms:4} arms, {units:3} units: {seconds.mean():.2f} ms a decision, "
            f"{seconds[0]:.0f} ms for the first one, which reads the names"
        )


def many_arms() -> None:
    """One decision for 100 to 10,000 independent arms, all of them visited."""
    structure = Structure("none", anchored=True)
    for make, label in ((Bhpt, "bhpt"), (NextUnit, "next-unit")):
        first = 0.0
        for arms in (100, 1_000, 10_000):
            view = observed(arms, arms, 20, np.zeros((arms, 1)), UNIT)
            seconds = decision_seconds(make(FreezeThaw(structure, RAW, INDEPENDENT)), view)
            first = first or seconds
            print(
                f"{arms:6} independent arms, {label:9}: {1e3 * seconds:7.2f} ms a decision, "
                f"{seconds / first:.1f} times that of 100 arms"
            )


def correlated_arms() -> None:
    """One decision for 2,000 correlated arms, 200 of them visited."""
    features = np.random.default_rng(2).uniform(size=(2_000, 2))
    structure = Structure("se", anchored=True)
    for make, label in ((Bhpt, "bhpt"), (NextUnit, "next-unit")):
        view = observed(2_000, 200, 20, features, UNIT)
        seconds = decision_seconds(make(FreezeThaw(structure, RAW, TRUTH)), view)
        print(f"2,000 correlated arms, 200 visited, {label:9}: {1e3 * seconds:.0f} ms a decision")


def very_many_candidates(arms: int, visited: int) -> View:
    """A study of T = 50 with 1 to 10 epochs of each visited arm and 700 more to spend."""
    rng = np.random.default_rng(3)
    features = rng.uniform(size=(arms, 8))
    chosen = rng.permutation(arms)[:visited]
    counts = rng.integers(1, 11, size=visited)
    left = (2 / (np.arange(1, 51) + 2)) ** 0.8
    ends = 0.2 + 2 * np.mean((features[chosen] - 0.4) ** 2, axis=1)
    ends += 0.02 * rng.standard_normal(visited)
    losses = 2.3 * left + ends[:, None] * (1 - left) + 0.01 * rng.standard_normal((visited, 50))
    losses[np.arange(50) >= counts[:, None]] = 0
    rows = np.repeat(np.arange(visited), counts)
    reports = np.stack([rows, np.ones_like(rows)], axis=1)
    curves = Curves(arms, 50, chosen, losses, counts, reports)
    return View(curves, 1, 700.0, np.ones(arms), features, 2.3)


def hundred_thousand_arms() -> None:
    """One decision for 100,000 correlated arms, 500 visited, hyper-parameters sampled.

    The first decision fits from nothing, as after a restart; of the later ones each works in one
    unit. A new fit comes each time that the units have grown by a fifth.
    """
    for name in ("default", "next-unit"):
        policy, view = make_rule(name), very_many_candidates(100_000, 500)
        first = best_of(1, lambda: policy.decide(view))  # noqa: B023  # called at once
        later = []
        for arm in view.curves.visited[:5]:
            view = one_more(view, int(arm))
            later.append(best_of(1, lambda: policy.decide(view)))  # noqa: B023
        print(
            f"100,000 correlated arms, 500 visited, {name:9}: {1e3 * np.median(later):.0f} ms a "
            f"decision, {first:.1f} s for the first one with all its fits"
        )


def peak(what: str) -> None:
    gibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory so far, {what}: {gibibytes:.2f} GiB")


def main() -> None:
    default_decisions()
    whole_runs()
    with_shapes()
    many_arms()
    peak("10,000 arms included")
    correlated_arms()
    hundred_thousand_arms()
    peak("100,000 correlated arms included")
    against_dense()
    peak("the dense Gaussian included")


if __name__ == "__main__":
    main()
