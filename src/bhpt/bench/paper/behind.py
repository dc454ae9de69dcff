"""In how many cells of task and budget a method is surely behind another, and how many by chance.

Many comparisons are made, so some come out surely behind even for a method that is as good as the
best of the others. How many is found by drawing: in every cell the seeds of all others are drawn
anew from their own, and those of the method from the regrets of the other with the lowest mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.bench.paper.evidence import PaperEvidence, interval
from bhpt.domain import FloatArray

_DRAWS = 200
_RARELY = 0.95  # of the draws have at most so many cells


@dataclass(frozen=True)
class SurelyBehind:
    """Where the better of some policies is surely behind one of its rivals.

    Attributes:
        cells: Cells of task and budget in which all of the policies ran, and a rival.
        behind: Those in which the best of the policies is surely behind a rival, in words.
        expected: How many there would be for as many policies, each equal to the best rival.
        at_most: A number that is exceeded in one draw of twenty.
    """

    cells: int
    behind: tuple[str, ...]
    expected: float
    at_most: int

    @property
    def as_by_chance(self) -> bool:
        """Whether there are no more than chance would give."""
        return len(self.behind) <= self.at_most

    def text(self) -> str:
        """The numbers and the cells."""
        listed = "".join(f"; {cell}" for cell in self.behind)
        return (
            f"{self.cells} cells: surely behind in {len(self.behind)}; by chance alone "
            f"{self.expected:.1f}, seldom more than {self.at_most}{listed}"
        )


def surely_behind(
    evidence: PaperEvidence, tasks: Sequence[str], ours: Sequence[str], rivals: Sequence[str]
) -> SurelyBehind:
    """Compare the better of our policies with each rival in every cell, seed by seed."""
    behind, drawn = [], []
    for task in tasks:
        for budget in evidence.budgets(task, *ours):
            present = [r for r in rivals if budget in evidence.budgets(task, r)]
            if not present:
                continue
            best = min(ours, key=lambda policy: evidence.mean(task, policy, budget).mean)
            gaps = {r: evidence.difference(task, best, r, budget) for r in present}
            ahead = [f"{r} by {gap.text()}" for r, gap in gaps.items() if gap.above]
            if ahead:
                behind.append(f"{task} B={budget} {best} to {', '.join(ahead)}")
            drawn.append([evidence.values(task, r, budget) for r in present])
    expected, at_most = behind_by_chance(drawn, len(ours))
    return SurelyBehind(len(drawn), tuple(behind), expected, at_most)


def behind_by_chance(
    cells: Sequence[Sequence[FloatArray]], ours: int, draws: int = _DRAWS
) -> tuple[float, int]:
    """Cells in which the better of some policies, each equal to the best rival, is surely behind.

    Args:
        cells: Regrets over seeds of every rival, cell by cell.
        ours: How many policies there are to take the better of.
        draws: How often all seeds are drawn anew.

    Returns:
        The mean over the draws, and a number that is exceeded in one of twenty.
    """
    rng = np.random.default_rng(0)
    if not cells:
        return 0.0, 0
    counts = [sum(_behind(cell, ours, rng) for cell in cells) for _ in range(draws)]
    return float(np.mean(counts)), int(np.quantile(counts, _RARELY, method="higher"))


def _behind(rivals: Sequence[FloatArray], ours: int, rng: np.random.Generator) -> bool:
    """Whether one draw of a cell comes out surely behind."""
    best = min(rivals, key=lambda regrets: float(np.mean(regrets)))
    seeds = min(len(regrets) for regrets in rivals)
    mine = min((rng.choice(best, seeds) for _ in range(ours)), key=lambda x: float(np.mean(x)))
    return any(interval(mine - rng.choice(regrets, seeds)).above for regrets in rivals)
