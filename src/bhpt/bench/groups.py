"""groups.csv: how much of a run's budget went to each family of arms, where arms have families.

It stands beside results.csv and is written before it, so that a run that is in results.csv has its
groups; a run that was interrupted in between is there twice with the same numbers, and counts once.
"""

from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from bhpt.bench.simulate import Trajectory
from bhpt.bench.table import RunKey, append_rows, read_rows, run_key, start_table
from bhpt.bench.tasks import Task

COLUMNS = ["task", "policy", "budget", "seed", "group", "share"]


@dataclass(frozen=True)
class GroupShare:
    """The part of a run's units that went to one family."""

    run: RunKey
    group: str
    share: float


def group_shares(task: Task, run: RunKey, trajectory: Trajectory) -> tuple[GroupShare, ...]:
    """Shares of every family, none if the task has no families or nothing ran."""
    if not task.groups or not len(trajectory.arms):
        return ()
    families = np.array(task.groups)
    ran = families[trajectory.arms]
    return tuple(
        GroupShare(run, str(name), float(np.mean(ran == name))) for name in np.unique(families)
    )


class Groups:
    """The table in a folder."""

    def __init__(self, folder: Path) -> None:
        """Name the table; it is started with the first row."""
        self.path = folder / "groups.csv"
        self._started = False

    def append(self, shares: tuple[GroupShare, ...]) -> None:
        """Add the shares of one run."""
        if not shares:
            return
        if not self._started:
            start_table(self.path, COLUMNS)
            self._started = True
        append_rows(self.path, ([*astuple(s.run), s.group, s.share] for s in shares))

    def rows(self) -> list[GroupShare]:
        """All shares, each once; none if there is no table."""
        if not self.path.exists():
            return []
        rows = read_rows(self.path, COLUMNS, _share)
        return list({(row.run, row.group): row for row in rows}.values())


def _share(cells: dict[str, str]) -> GroupShare:
    return GroupShare(run_key(cells), cells["group"], float(cells["share"]))
