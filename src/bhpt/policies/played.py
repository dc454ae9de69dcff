"""Policies played to the end of a study in possible worlds: what each of them would reach.

A world says how every curve would go on. Worlds are joint draws by a predictor, and each policy is
the object that would decide for real: it sees a curve of a world only as far as it has trained it
there. The same worlds serve all policies, so a difference between two of them is one of their
choices and not of luck.

Units cost what they are predicted to cost now, and no new configurations are drawn on the way.

Notation:
    K  arms, T  epochs of a full training, S  worlds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from bhpt.beliefs.predictor import Ends
from bhpt.domain import BoolArray, FloatArray, Memory, View
from bhpt.policies.interface import Policy


@dataclass(frozen=True, slots=True)
class PlayedStudy:
    """A study that was played to its end.

    Attributes:
        loss: Its best finite loss, that of what was observed before included.
        units: Units that were started.
        arms: Arms that got one of them.
    """

    loss: float
    units: int
    arms: int


def draw_worlds_of_all(
    view: View, ends: Ends, size: int, rng: np.random.Generator
) -> FloatArray | None:
    """Joint draws of the lowest loss of every arm after each epoch, [S, K, T + 1].

    Of an arm that the predictor has not looked at, the curve is that of an arm that it has, drawn
    anew in each world: an untried one, where there is one.

    Args:
        view: The study.
        ends: What its predictor says of it.
        size: S.
        rng: Random numbers.

    Returns:
        None if nothing is known of any arm.
    """
    worlds = ends.paths(np.arange(view.arms), size, rng)
    known = np.isfinite(worlds).all(axis=(0, 2))
    if not known.any():
        return None
    untried = view.curves.count_by_arm == 0
    donors = np.flatnonzero(known & untried) if (known & untried).any() else np.flatnonzero(known)
    others = np.flatnonzero(~known)
    drawn = rng.choice(donors, (size, len(others)))
    reached = view.curves.best_by_arm[others]
    lent = worlds[np.arange(size)[:, None], drawn]
    worlds[:, others] = np.minimum(lent, reached[None, :, None])
    return worlds


def play(view: View, policy: Policy, world: FloatArray, memory: Memory) -> PlayedStudy:
    """Let a policy decide until nothing more can be started, all workers kept busy.

    Args:
        view: The study as it stands. Units in flight end first, at the price of a unit.
        policy: Decides.
        world: How the lowest loss of every arm falls as it trains, [K, T + 1].
        memory: What the policy prepares; it may be shared by all worlds of one study.
    """
    workers, curves, clock = max(view.lanes, view.split), view.curves, 0.0
    usable = _usable(view)
    started: list[int] = []
    flying = sorted((float(view.costs[arm]), arm) for arm in view.pending.tolist())
    while True:
        while len(flying) < workers:
            gone = clock if view.lanes > 1 else float(view.costs[started].sum())
            pending = np.array([arm for _, arm in flying], np.int64)
            now = replace(
                view,
                curves=curves,
                left=view.left - gone,
                pending=pending,
                startable=usable
                if usable is None
                else usable & (curves.count_by_arm < curves.epochs),
                memory=memory,
            )
            decision = policy.decide(now) if now.choosable.any() else None
            if decision is None:
                break
            started.append(decision.arm)
            heappush(flying, (clock + float(view.costs[decision.arm]), decision.arm))
        if not flying:
            return PlayedStudy(float(curves.best), len(started), len(set(started)))
        clock, arm = heappop(flying)
        done = curves.count(arm)
        curves = curves.extend(arm, world[arm, done + 1 : done + 1 + view.unit])


def _usable(view: View) -> BoolArray | None:
    """Arms that may ever start a unit, those in flight included, [K]; None for all."""
    if view.startable is None:
        return None
    usable: BoolArray = view.startable.copy()
    usable[view.pending] = True
    return usable


def play_all(
    view: View, policies: Sequence[Policy], worlds: FloatArray
) -> tuple[tuple[PlayedStudy, ...], ...]:
    """Play every policy in every world.

    Args:
        view: The study as it stands.
        policies: P of them.
        worlds: How curves go on, [S, K, T + 1].

    Returns:
        A row for each policy, with the study of each world.
    """
    memories = [Memory() for _ in policies]
    return tuple(
        tuple(play(view, policy, world, memory) for world in worlds)
        for policy, memory in zip(policies, memories, strict=True)
    )
