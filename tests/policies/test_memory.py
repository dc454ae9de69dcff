"""What is remembered between decisions saves time and changes no decision, for every policy."""

import importlib.util

import numpy as np
import pytest

from bhpt.bench.baselines.registry import make_rule, names
from bhpt.domain import Curves, FloatArray, Memory, View
from bhpt.spaces import encode_tokens, infer_ranges

ARMS, EPOCHS, BUDGET = 9, 6, 14
NEEDS = {"smac": "smac"}


class Table:
    """A small study of named hyper-parameters; another seed is another study."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        end = rng.uniform(0.2, 1.5, (ARMS, 1))
        fall = np.exp(-np.arange(1, EPOCHS + 1) / rng.uniform(0.5, 4, (ARMS, 1)))
        self.losses = end + (2 - end) * fall
        self.features = rng.uniform(size=(ARMS, 2))
        rates = 10.0 ** rng.uniform(-4, 0, ARMS)
        configs = [{"learning_rate": float(rate)} for rate in rates]
        self.tokens = encode_tokens(configs, infer_ranges(configs))
        self.seed = seed

    def view(self, curves: Curves, memory: Memory) -> View:
        """A moment, with arrays of its own as after a resume."""
        copied: FloatArray | None = None if self.tokens is None else self.tokens.copy()
        return View(
            curves=curves,
            unit=1,
            left=float(BUDGET - len(curves.reports)),
            costs=np.ones(ARMS),
            features=self.features.copy(),
            untrained=2.0,
            seed=self.seed,
            tokens=copied,
            memory=memory,
        )

    def run(self, name: str, memory: Memory | None) -> list[int]:
        """The arms chosen, with one memory for all decisions or a fresh one for each."""
        policy, curves, chosen = make_rule(name), Curves.empty(ARMS, EPOCHS), []
        for _ in range(BUDGET):
            decision = policy.decide(self.view(curves, Memory() if memory is None else memory))
            if decision is None:
                break
            at = int(curves.count_by_arm[decision.arm])
            curves = curves.extend(decision.arm, self.losses[decision.arm, at : at + 1])
            chosen.append(decision.arm)
        return chosen


@pytest.mark.parametrize("name", names())
def test_decisions_do_not_depend_on_what_is_remembered(name: str) -> None:
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    table, other = Table(1), Table(2)
    memory, foreign = Memory(), Memory()
    fresh = table.run(name, None)
    assert table.run(name, memory) == fresh
    assert table.run(name, memory) == fresh  # it remembers the end of the same study
    assert other.run(name, foreign) == other.run(name, None)
    assert table.run(name, foreign) == fresh  # it remembers another study
