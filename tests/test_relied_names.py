"""Names, arguments and files that programs outside of the project call: none may go away."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bhpt
from bhpt.bench.catalogue import load
from bhpt.bench.peers.registry import names as bench_names
from bhpt.cli.deferred import load_command
from bhpt.cli.main import COMMANDS
from bhpt.executors import Executor
from bhpt.policies import registry
from bhpt.trainers.specs import TrainerSpec
from tests.tuning.cases import executor

_OPTIONS = {
    "tune": "--space --budget --workers --study --metric --mode --initial --fixed --learn-from "
    "--stop-when --if-exists --executor --gpus-per-worker --policy --seed",
    "resume": "--add-budget",
    "status": "",
    "export": "--format --out",
    "forecast": "",
    "dashboard": "--port",
    "doctor": "",
    "report": "--out",
    "studies": "",
    "policies": "",
    "bench": "--tasks --policies --budgets --seeds --arms --data --jobs --out",
    "bench figures": "",
    "bench paper": "--out --quick",
    "bench kinds": "--out",
    "bench live": "--out",
}
_POLICIES = (
    "default bhpt bhpt-eps q-alone q-eps-alone next-unit random gp-ei smac hyperband fabolas "
    "freeze-thaw rollout sh i-epoch asha optuna dyhpo mobster bohb smac-mf dehb neps-asha"
)
_TUNED_WITH = "default bhpt bhpt-eps next-unit random hyperband sh i-epoch asha"
_TASKS = "synthetic synthetic-raw resnet_cifar10 arch_cifar10 fcnet_mnist vae_mnist"
_ARGUMENTS = (
    "trainer space budget workers study seed metric mode initial fixed learn_from stop_when "
    "on_unit if_exists executor gpus_per_worker"
)
_NAMES = (
    "tune resume report checkpoint Budget Study plot.curves sklearn.BudgetedSearchCV "
    "ray.BHPTScheduler testing.PolicyContract"
)


@pytest.mark.parametrize("command", _OPTIONS)
def test_commands_have_their_options(command: str) -> None:
    first, *rest = command.split()
    found = load_command(next(entry.target for entry in COMMANDS if entry.name == first))
    for name in rest:
        found = load_command(found.commands[name]._target)  # type: ignore[union-attr]
    known = {option for parameter in found.params for option in parameter.opts}
    assert set(_OPTIONS[command].split()) <= known


@pytest.mark.parametrize("name", _POLICIES.split())
def test_the_benchmark_knows_its_policies(name: str) -> None:
    assert name in bench_names()


@pytest.mark.parametrize("name", _TUNED_WITH.split())
def test_policies_can_be_tuned_with(name: str) -> None:
    assert name in registry.names()


@pytest.mark.parametrize("name", _TASKS.split())
def test_packaged_tasks_are_there(name: str) -> None:
    assert load(name, 0).arms > 1


@pytest.mark.parametrize("name", _ARGUMENTS.split())
def test_tune_takes_its_arguments(name: str) -> None:
    assert name in inspect.signature(bhpt.tune).parameters


@pytest.mark.parametrize("name", _NAMES.split())
def test_python_names_are_there(name: str) -> None:
    """After `import bhpt` alone, in a process that has imported nothing else."""
    if name.startswith("ray."):
        pytest.importorskip("ray")
    subprocess.run([sys.executable, "-c", f"import bhpt; bhpt.{name}"], check=True)


def test_gpus_per_worker_reach_the_executor(tmp_path: Path) -> None:
    asked: list[float | None] = []

    def make(_trainer: TrainerSpec, workers: int, _logs: Path, options: bhpt.Options) -> Executor:
        asked.append(options.gpus_per_worker)
        return executor(workers)

    study = tmp_path / "net.db"
    configs = [{"x": value / 10} for value in range(11)]
    bhpt.tune(
        "tests.tuning.trainers:Net",
        configs,
        "2 epochs",
        study=study,
        executor=make,
        gpus_per_worker=0.5,
    )
    bhpt.resume(study, "2 epochs", executor=make, gpus_per_worker=1)
    assert asked == [0.5, 1]
