"""The default with every opinion by names reversed."""

from dataclasses import replace

import numpy as np

from bhpt.bench.baselines.misled import reversed_tokens
from bhpt.bench.baselines.registry import make_rule, networks
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import packaged
from bhpt.policies.learned import Learned


def test_it_decides_as_the_default_does_when_told_the_opposite() -> None:
    task = packaged("vae_mnist")
    assert task.tokens is not None
    opposite = replace(task, tokens=reversed_tokens(task.tokens, Learned().weights))
    misled, default = make_rule("misled"), make_rule("default")
    arms = simulate(task, misled, 12, 0).arms
    np.testing.assert_array_equal(arms, simulate(opposite, default, 12, 0).arms)
    assert arms[0] != simulate(task, default, 12, 0).arms[0]


def test_without_names_nothing_misleads() -> None:
    task = replace(packaged("vae_mnist"), tokens=None)
    misled, default = make_rule("misled"), make_rule("default")
    np.testing.assert_array_equal(
        simulate(task, misled, 6, 0).arms, simulate(task, default, 6, 0).arms
    )


def test_its_networks_are_those_of_the_default() -> None:
    assert networks("misled") == networks("default") != {}
    assert networks("random") == {}
