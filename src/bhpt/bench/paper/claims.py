"""The paper's claims, one by one, with what was measured and whether it holds.

A claim about an order of two methods holds where the 95% interval of their difference lies on the
claimed side, fails where it lies on the other, and is open in between.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bhpt.bench.catalogue import load
from bhpt.bench.groups import GroupShare
from bhpt.bench.paper.behind import surely_behind
from bhpt.bench.paper.claim import ClaimVerdict, PaperClaim
from bhpt.bench.paper.evidence import MeanInterval, PaperEvidence, interval
from bhpt.bench.paper.plan import SYNTHETIC, Collected

BASELINES = ("rollout", "hyperband", "gp-ei")  # of the paper's synthetic figure
REAL_BASELINES = ("smac", "hyperband", "fabolas", "freeze-thaw")  # of its real ones
PRINTED = ("bhpt", "bhpt-eps")
WITH_SHAPES = ("bhpt-shapes", "bhpt-eps-shapes")
SLOW = ("arch2_cifar10", "resnet")  # the task with a family that learns slowly and ends lower
SLOW_LONG = "arch2_cifar10@6"  # the same with units as long as the paper's
_SAME = 0.02  # regrets that differ by less are about the same
_ROUNDING = 0.0005  # smaller differences count as equal
_PAPER_SECONDS = {"bhpt": 11.89, "hyperband": 0.01, "gp-ei": 0.40, "rollout": 1007.06}
_MORE_THAN_NOTHING = 0.05  # a hit rate or a share that changes by less stays where it is
_NAMED = 6  # cells of a claim that are named
TIMED_BUDGET = 100

SharesByBudget = dict[int, dict[int, float]]
"""Share of a family by seed, by budget, the smallest first."""


def judge(collected: Collected) -> list[PaperClaim]:
    """All claims."""
    evidence = PaperEvidence(collected.rows)
    return [
        vanishing_regret(evidence),
        lowest_on_synthetic(evidence),
        *(
            lowest_on_real(evidence, tasks, f"{units}, {belief}", ours)
            for units, tasks in _units(collected)
            for belief, ours in (("as printed", PRINTED), ("a shape for each arm", WITH_SHAPES))
        ),
        bo_against_hyperband(evidence),
        rollout_like_hyperband(evidence),
        trend(evidence, "top5", rising=True, says="The top-5 hit rate rises with B"),
        trend(evidence, "share", rising=False, says="The share on the output arm falls with B"),
        *(epsilon_on_real(evidence, tasks, units) for units, tasks in _units(collected)),
        *(
            falling_on_real(evidence, tasks, units, WITH_SHAPES)
            for units, tasks in _units(collected)
        ),
        *(seldom_behind(evidence, tasks, units) for units, tasks in _units(collected)),
        exhaustion_rule(evidence),
        sampled_hypers(evidence),
        slow_family(collected.shares),
        *(slow_family(collected.shares, ours, SLOW[0]) for ours in WITH_SHAPES),
        *(slow_family(collected.shares, ours, SLOW_LONG) for ours in WITH_SHAPES),
        decision_times(evidence),
    ]


def vanishing_regret(evidence: PaperEvidence) -> PaperClaim:
    """R_B → 0 for BHPT on drawn curves."""
    says = "BHPT's regret goes to 0 as B grows (synthetic)"
    budgets = evidence.budgets(SYNTHETIC, "bhpt")
    if len(budgets) < 2:
        return PaperClaim(says, "", "not run")
    means = [evidence.mean(SYNTHETIC, "bhpt", budget) for budget in budgets]
    measured = _listed(budgets, means, digits=4)
    last, first = means[-1], means[0]
    good = last.mean <= 0.005 and last.mean < 0.1 * first.mean
    return PaperClaim(says, measured, "holds" if good else "does not hold")


def lowest_on_synthetic(evidence: PaperEvidence) -> PaperClaim:
    """BHPT's regret is the lowest of the figure at every budget."""
    says = "BHPT or BHPT-ε has the lowest regret at every budget (synthetic)"
    return _lowest(evidence, (SYNTHETIC,), BASELINES, says)


def lowest_on_real(
    evidence: PaperEvidence,
    tasks: Sequence[str],
    where: str = "",
    ours: tuple[str, ...] = PRINTED,
) -> PaperClaim:
    """The same on the real tasks, against the methods that the paper shows there."""
    says = "BHPT or BHPT-ε beats SMAC, Hyperband, Fabolas and FreezeThaw on the real tasks"
    return _lowest(evidence, tasks, REAL_BASELINES, says + (where and f" ({where})"), ours)


def falling_on_real(
    evidence: PaperEvidence, tasks: Sequence[str], where: str, policies: Sequence[str]
) -> PaperClaim:
    """No step to a larger budget after which a policy is surely worse."""
    says = f"More budget never hurts ({where}, a shape for each arm)"
    steps, rises = 0, []
    for task in tasks:
        for policy in policies:
            for small, large in pairwise(evidence.budgets(task, policy)):
                steps += 1
                gap = evidence.step(task, policy, small, large)
                if gap.above and gap.mean > _ROUNDING:
                    rises.append(f"{task} {policy} B={small} to {large} {gap.text(signed=True)}")
    if not steps:
        return PaperClaim(says, "", "not run")
    measured = f"{steps} steps, regret surely rises in {len(rises)}"
    if rises:
        measured += "; " + "; ".join(rises)
    if not rises:
        return PaperClaim(says, measured, "holds")
    return PaperClaim(says, measured, "does not hold" if 10 * len(rises) > steps else "partly")


def seldom_behind(evidence: PaperEvidence, tasks: Sequence[str], where: str) -> PaperClaim:
    """The better of both with shapes is surely behind one of the others no more than by chance."""
    says = "BHPT or BHPT-ε is hardly ever surely behind another method"
    found = surely_behind(evidence, tasks, WITH_SHAPES, (*REAL_BASELINES, "random"))
    says += f" ({where}, a shape for each arm)"
    if not found.cells:
        return PaperClaim(says, "", "not run")
    return PaperClaim(says, found.text(), "holds" if found.as_by_chance else "does not hold")


def _units(collected: Collected) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The real tasks with either kind of units, and what to call them."""
    return (("short units", collected.real), ("the paper's units", collected.long))


def _lowest(
    evidence: PaperEvidence,
    tasks: Sequence[str],
    rivals: Sequence[str],
    says: str,
    policies: tuple[str, ...] = PRINTED,
) -> PaperClaim:
    """Compare the better of BHPT and BHPT-ε with the best rival, at every budget."""
    gaps = list(_against_the_best(evidence, tasks, rivals, policies))
    if not gaps:
        return PaperClaim(says, "", "not run")
    ahead, behind = sum(gap.below for _, gap in gaps), sum(gap.above for _, gap in gaps)
    measured = (
        f"{len(gaps)} cells: surely ahead of the best other in {ahead}, surely behind in {behind}"
    )
    lost = [(where, gap) for where, gap in gaps if gap.mean > _ROUNDING]
    lost.sort(key=lambda cell: not cell[1].above)  # those that are sure first
    if lost:
        named = [f"{where} by {gap.text()}" for where, gap in lost[:_NAMED]]
        measured += "; " + "; ".join(named) + (" …" if len(lost) > _NAMED else "")
    if not ahead and not behind:
        return PaperClaim(says, measured, "open")
    if not lost:
        return PaperClaim(says, measured, "holds")
    return PaperClaim(says, measured, "does not hold" if behind > ahead else "partly")


def _against_the_best(
    evidence: PaperEvidence, tasks: Sequence[str], rivals: Sequence[str], policies: Sequence[str]
) -> Iterator[tuple[str, MeanInterval]]:
    """Every cell in words, and the regret of the best policy there less that of the best rival."""
    for task in tasks:
        present = [r for r in rivals if evidence.has(task, r)]
        for budget in evidence.budgets(task, *policies, *present) if present else ():
            ours = _best(evidence, task, budget, policies)
            theirs = _best(evidence, task, budget, present)
            where = f"B={budget}" if len(tasks) == 1 else f"{task} B={budget}"
            yield f"{where} behind {theirs}", evidence.difference(task, ours, theirs, budget)


def _best(evidence: PaperEvidence, task: str, budget: int, policies: Sequence[str]) -> str:
    return min(policies, key=lambda policy: evidence.mean(task, policy, budget).mean)


def bo_against_hyperband(evidence: PaperEvidence) -> PaperClaim:
    """GP-EI wins at the smallest budget and loses at the largest."""
    says = "Plain BO beats Hyperband at small B and loses at large B (synthetic)"
    budgets, gaps = _gaps(evidence, "gp-ei", "hyperband")
    if not gaps:
        return PaperClaim(says, "", "not run")
    measured = "GP-EI less Hyperband: " + _gaps_listed(budgets, gaps)
    small, large = gaps[0], gaps[-1]
    verdict = _both(small.below, large.above, contradicted=small.above or large.below)
    return PaperClaim(says, measured, verdict)


def rollout_like_hyperband(evidence: PaperEvidence) -> PaperClaim:
    """Rollout's regret is about Hyperband's."""
    says = "Rollout behaves like Hyperband (synthetic)"
    return _alike_claim(evidence, says, "rollout", "hyperband", "Rollout less Hyperband")


def _alike_claim(evidence: PaperEvidence, says: str, one: str, other: str, gap: str) -> PaperClaim:
    """The claim that two policies have about the same regret on the synthetic tasks."""
    budgets, gaps = _gaps(evidence, one, other)
    if not gaps:
        return PaperClaim(says, "", "not run")
    return PaperClaim(says, f"{gap}: {_gaps_listed(budgets, gaps)}", _alike(gaps))


def trend(evidence: PaperEvidence, metric: str, *, rising: bool, says: str) -> PaperClaim:
    """A metric of BHPT and of GP-EI from the smallest to the largest budget."""
    parts, right = [], []
    for policy in ("bhpt", "gp-ei"):
        budgets = evidence.budgets(SYNTHETIC, policy)
        if len(budgets) < 2:
            return PaperClaim(says, "", "not run")
        means = [evidence.mean(SYNTHETIC, policy, b, metric).mean for b in budgets]
        arrow = " → ".join(f"{mean:.2f}" for mean in means)
        parts.append(f"{policy} {arrow}")
        change = means[-1] - means[0]
        right.append((change if rising else -change) > _MORE_THAN_NOTHING)
    verdict: ClaimVerdict = "holds" if all(right) else "partly" if any(right) else "does not hold"
    measured = f"B = {', '.join(map(str, budgets))}: {'; '.join(parts)}"
    return PaperClaim(f"{says} (synthetic; BHPT and BO)", measured, verdict)


def epsilon_on_real(evidence: PaperEvidence, tasks: Sequence[str], where: str = "") -> PaperClaim:
    """BHPT-ε ahead in the smaller half of the budgets, BHPT in the larger."""
    small: list[MeanInterval] = []
    large: list[MeanInterval] = []
    parts = []
    for task in tasks:
        budgets = evidence.budgets(task, "bhpt", "bhpt-eps")
        gaps = [evidence.difference(task, "bhpt-eps", "bhpt", b) for b in budgets]
        half = len(gaps) // 2
        small += gaps[:half]
        large += gaps[-half:] if half else []
        parts.append(f"{task} " + ", ".join(_signed(gap.mean) for gap in gaps))
    says = "BHPT-ε is better at small budgets on real tasks, BHPT at large"
    says += where and f" ({where})"
    if not small:
        return PaperClaim(says, "", "not run")
    measured = (
        f"BHPT-ε less BHPT, smaller half of the budgets {_signed(_mean(small))}, larger half "
        f"{_signed(_mean(large))} ({'; '.join(parts)})"
    )
    surely_small = sum(g.below for g in small), sum(g.above for g in small)
    surely_large = sum(g.above for g in large), sum(g.below for g in large)
    verdict = _both(
        surely_small[0] > surely_small[1],
        surely_large[0] > surely_large[1],
        contradicted=surely_small[0] < surely_small[1] or surely_large[0] < surely_large[1],
    )
    return PaperClaim(says, measured, verdict)


def exhaustion_rule(evidence: PaperEvidence) -> PaperClaim:
    """Without the rule to commit regret rises, more for Q than for Q-ε."""
    says = "Dropping the exhaustion rule hurts, more so for Q than for Q-ε"
    budgets, plain = _gaps(evidence, "q-alone", "bhpt")
    _, greedy = _gaps(evidence, "q-eps-alone", "bhpt-eps")
    if not plain or not greedy:
        return PaperClaim(says, "", "not run")
    measured = (
        f"Q alone less BHPT: {_gaps_listed(budgets, plain)}. "
        f"Q-ε alone less BHPT-ε: {_gaps_listed(budgets, greedy)}"
    )
    hurt, helped = sum(g.above for g in plain), sum(g.below for g in plain)
    more = _mean(plain) > _mean(greedy)
    if not hurt and not helped:
        return PaperClaim(says, measured, "open")
    if hurt <= helped or not more:
        return PaperClaim(says, measured, "does not hold")
    greedy_hurt = sum(g.above for g in greedy) >= sum(g.below for g in greedy)
    return PaperClaim(says, measured, "holds" if greedy_hurt else "partly")


def sampled_hypers(evidence: PaperEvidence) -> PaperClaim:
    """Sampled hyper-parameters against the true ones."""
    says = "Sampled hyper-parameters do about as well as true ones"
    return _alike_claim(evidence, says, "bhpt-sampled", "bhpt", "sampled less true")


def slow_family(
    shares: Sequence[GroupShare], ours: str = "bhpt", task: str = SLOW[0]
) -> PaperClaim:
    """BHPT's share on the slow family rises with the budget and never falls; Hyperband's stays.

    Only budgets that the family alone could take count: beyond them the share of everybody falls.
    """
    group, most = SLOW[1], family_units(task, SLOW[1])
    says = "BHPT spends more on the slow family as B grows; Hyperband does not adapt"
    says += "" if (ours, task) == ("bhpt", SLOW[0]) else f" ({ours}, {task})"
    everywhere = {policy: _shares(shares, task, group, policy) for policy in (ours, "hyperband")}
    found = {
        policy: {budget: seeds for budget, seeds in by_budget.items() if budget <= most}
        for policy, by_budget in everywhere.items()
    }
    if min(map(len, found.values())) < 2:
        return PaperClaim(says, "", "not run")
    steps = [_seed_by_seed(one, other) for one, other in pairwise(found[ours].values())]
    parts = [f"{policy} {_shares_listed(by_budget)}" for policy, by_budget in found.items()]
    parts.append(f"steps of {ours} " + ", ".join(step.text(2, signed=True) for step in steps))
    parts += [
        f"B = {budget}, where none can have more than {most / budget:.2f}: "
        + _over_seeds(seeds).text(2)
        for budget, seeds in everywhere[ours].items()
        if budget > most
    ]
    measured = f"share on {group} of {task}: " + "; ".join(parts)
    rise, other = _rise(found[ours]), _rise(found["hyperband"])
    if rise <= 0:
        return PaperClaim(says, measured, "does not hold")
    first, *_, last = found[ours].values()
    surely = _seed_by_seed(first, last).above
    good = surely and rise > max(_MORE_THAN_NOTHING, other)
    falls = any(step.below for step in steps)
    return PaperClaim(says, measured, "holds" if good and not falls else "partly")


def _shares_listed(by_budget: SharesByBudget) -> str:
    """Mean share at every budget in words."""
    return _listed(list(by_budget), [_over_seeds(s) for s in by_budget.values()], digits=2)


def _rise(by_budget: SharesByBudget) -> float:
    """Mean share with the largest budget less that with the smallest."""
    first, *_, last = by_budget.values()
    return _over_seeds(last).mean - _over_seeds(first).mean


def _over_seeds(by_seed: dict[int, float]) -> MeanInterval:
    """Mean of a number by seed."""
    return interval(np.array(list(by_seed.values())))


def family_units(task: str, group: str) -> int:
    """Units that all arms of a family have in all, each trained to its end."""
    table = load(task, 0)
    return table.groups.count(group) * -(-table.epochs // table.unit)


def _shares(shares: Sequence[GroupShare], task: str, group: str, policy: str) -> SharesByBudget:
    """Share by seed, by budget."""
    found: SharesByBudget = {}
    for s in shares:
        if (s.run.task, s.group, s.run.policy) == (task, group, policy):
            found.setdefault(s.run.budget, {})[s.run.seed] = s.share
    return dict(sorted(found.items()))


def _seed_by_seed(before: dict[int, float], after: dict[int, float]) -> MeanInterval:
    """What a number by seed has changed, over the seeds that both have."""
    both = sorted(set(before) & set(after))
    return interval(np.array([after[seed] - before[seed] for seed in both]))


@dataclass(frozen=True)
class Timing:
    """Seconds of deciding in one run of `TIMED_BUDGET` units on the synthetic task."""

    policy: str
    seconds: float
    runs: int
    paper: float | None


def timings(evidence: PaperEvidence, policies: Sequence[str]) -> list[Timing]:
    """Decision times of all policies that ran with that budget."""
    made = []
    for policy in policies:
        if TIMED_BUDGET in evidence.budgets(SYNTHETIC, policy):
            mean = evidence.mean(SYNTHETIC, policy, TIMED_BUDGET, "decision_s")
            made.append(Timing(policy, mean.mean, mean.seeds, _PAPER_SECONDS.get(policy)))
    return made


def decision_times(evidence: PaperEvidence) -> PaperClaim:
    """Hyperband and BO are cheap, BHPT moderate, Rollout far dearer than BHPT."""
    found = {t.policy: t for t in timings(evidence, tuple(_PAPER_SECONDS))}
    says = (
        f"Deciding for B = {TIMED_BUDGET} takes BHPT 11.89 s, Hyperband 0.01 s, BO 0.40 s, Rollout "
        "1007 s"
    )
    if set(found) != set(_PAPER_SECONDS):
        return PaperClaim(says, "", "not run")
    measured = ", ".join(
        f"{name} {t.seconds:#.3g} s ({t.paper / t.seconds:.0f}× faster)"
        if t.paper is not None and t.paper > t.seconds
        else f"{name} {t.seconds:#.3g} s"
        for name, t in found.items()
    )
    order = found["hyperband"].seconds < found["bhpt"].seconds < found["rollout"].seconds
    return PaperClaim(says, measured, "holds" if order else "partly")


def _listed(budgets: Sequence[int], values: Sequence[MeanInterval], digits: int = 3) -> str:
    return ", ".join(f"B={b} {v.text(digits)}" for b, v in zip(budgets, values, strict=True))


def _gaps_listed(budgets: Sequence[int], gaps: Sequence[MeanInterval]) -> str:
    pairs = zip(budgets, gaps, strict=True)
    return ", ".join(f"B={b} {gap.text(signed=True)}" for b, gap in pairs)


def _signed(value: float) -> str:
    return f"{value:+z.3f}".replace("-", "−")


def _mean(gaps: Sequence[MeanInterval]) -> float:
    return float(np.mean([gap.mean for gap in gaps]))


def _gaps(evidence: PaperEvidence, one: str, other: str) -> tuple[list[int], list[MeanInterval]]:
    """Budgets at which both ran on the synthetic task, and their differences there."""
    budgets = evidence.budgets(SYNTHETIC, one, other)
    return budgets, [evidence.difference(SYNTHETIC, one, other, b) for b in budgets]


def _alike(gaps: Sequence[MeanInterval]) -> ClaimVerdict:
    """Whether two methods are about the same at every budget."""
    apart = sum(abs(gap.mean) > _SAME and (gap.above or gap.below) for gap in gaps)
    if 2 * apart > len(gaps):
        return "does not hold"
    if apart:
        return "partly"
    sure = sum(abs(gap.mean) <= _SAME and gap.high - gap.low <= 4 * _SAME for gap in gaps)
    return "holds" if 2 * sure > len(gaps) else "open"


def _both(one: bool, other: bool, *, contradicted: bool) -> ClaimVerdict:
    """Two halves of a claim, each surely right or not."""
    if one and other:
        return "holds"
    if one or other:
        return "partly"
    return "does not hold" if contradicted else "open"
