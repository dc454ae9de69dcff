"""The benchmark of the guard: what it counts and prints."""

import sys

import pytest

from benchmarks import guard
from bhpt.bench.catalogue import load


def test_units_are_counted_and_the_guard_is_run_where_it_has_something_to_do() -> None:
    idle = guard.compare("learned", load("fcnet_mnist", 0), 10, 0)
    assert (idle.units, idle.hopeless) == (10, 0)
    assert idle.printed == idle.guarded
    acting = guard.compare("learned", load("fcnet_mnist", 0), 40, 0)
    assert acting.units == 40
    assert acting.hopeless > 0


def test_a_line_for_each_rule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [guard.Compared(10, 1, 0.2, 0.1), *[guard.Compared(10, 0, 0.3, 0.3)] * 2]
    assert guard.line("bhpt", found) == (  # 4.303 · 0.0577 / √3: Student's t of two degrees
        "bhpt: 3.3% of 30 units, 1 of 3 studies better, 0 worse, regret −0.0333 ± 0.1434"
    )
    arguments = ["--policies", "learned", "--tables", "vae_mnist", "--budgets", "5", "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", ["guard", *arguments])
    guard.main()
    assert capsys.readouterr().out.startswith("learned: 0.0% of 5 units, 0 of 1 studies better")


def test_a_rule_that_predicts_nothing_is_refused() -> None:
    with pytest.raises(SystemExit, match="sh predicts nothing"):
        guard.compare("sh", load("vae_mnist", 0), 5, 0)
