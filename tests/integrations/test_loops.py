"""Loops of real frameworks: frozen and thawed they go on as if nothing had happened."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bhpt.domain import Objective, Resume
from bhpt.trainers import Work, check
from bhpt.tuning import Options, resume, tune
from tests.integrations import heavy_loops, loops
from tests.study.cases import Greedy

Loop = Callable[[dict[str, Any]], None]
LOOPS = [
    pytest.param("torch", loops.torch_loop, "loss", id="torch"),
    pytest.param("xgboost", loops.xgboost_loop, "rmse", id="xgboost"),
    pytest.param("lightgbm", loops.lightgbm_loop, "l2", id="lightgbm"),
]
HEAVY = [
    pytest.param("keras", heavy_loops.keras_loop, "loss", id="keras"),
    pytest.param("lightning", heavy_loops.lightning_loop, "loss", id="lightning"),
    pytest.param("transformers", heavy_loops.transformers_loop, "eval_loss", id="transformers"),
]
pytestmark = pytest.mark.filterwarnings("default")  # those of the frameworks are theirs


def _losses(loop: Loop, metric: str, folder: Path, units: list[int]) -> list[float]:
    """The losses of some units, each thawed from the one before."""
    trainer = check(loop, "loop")
    losses: list[float] = []
    start = Resume()
    for number, epochs in enumerate(units):
        place = folder / str(number)
        place.mkdir(parents=True)
        work = Work({"lr": 0.02}, epochs, place, start, objective=Objective(metric))
        result, alive = trainer.run(work, None)
        assert result.frozen
        assert alive is not None
        trainer.drop(alive)
        losses += result.losses
        start = Resume.checkpoint(len(losses), place)
    return losses


@pytest.mark.parametrize(("package", "loop", "metric"), LOOPS)
def test_thawed_it_goes_on_as_if_nothing_had_happened(
    package: str, loop: Loop, metric: str, tmp_path: Path
) -> None:
    pytest.importorskip(package)
    whole = _losses(loop, metric, tmp_path / "whole", [5])
    parts = _losses(loop, metric, tmp_path / "parts", [2, 1, 2])
    assert parts == pytest.approx(whole, rel=1e-4)
    assert whole[-1] < whole[0]


@pytest.mark.slow
@pytest.mark.parametrize(("package", "loop", "metric"), HEAVY)
def test_heavy_ones_go_on_too(
    package: str, loop: Loop, metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    pytest.importorskip(package)
    whole = _losses(loop, metric, tmp_path / "whole", [5])
    parts = _losses(loop, metric, tmp_path / "parts", [2, 1, 2])
    assert parts == pytest.approx(whole, rel=1e-3)
    assert whole[-1] < whole[0]


@pytest.mark.slow
@pytest.mark.parametrize(("package", "loop", "metric"), LOOPS)
def test_it_is_tuned_and_resumed(package: str, loop: Loop, metric: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    space = {"lr": (0.001, 0.3, "log")}
    options = Options(grace_s=1.0)
    file = tmp_path / "study.db"
    result = tune(loop, space, "6 epochs", 1, file, policy=Greedy(), metric=metric, options=options)
    assert result.best_checkpoint is not None
    again = resume(file, "3 epochs", policy=Greedy(), options=options)
    assert again.state.ledger.spent == 9
    assert again.state.failures == 0


def test_other_parts_are_told(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    module = importlib.import_module("bhpt.integrations.torch")
    one = torch.nn.Linear(2, 2)
    module.TrainingState(model=one).save(tmp_path)
    with pytest.raises(ValueError, match="the checkpoint holds model, not net"):
        module.TrainingState(net=one).load(tmp_path)
    with pytest.raises(ValueError, match="name what has a state"):
        module.TrainingState()


def test_weights_can_be_read_by_others_and_tied_ones_stay_tied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    module = importlib.import_module("bhpt.integrations.torch")

    def tied() -> Any:
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
        model[1].weight = model[0].weight
        return model

    one, other = tied(), tied()
    module.TrainingState(model=one, optimizer=torch.optim.Adam(one.parameters())).save(tmp_path)
    assert safetensors.load_file(tmp_path / "model.safetensors")["0.bias"].equal(one[0].bias)
    state = module.TrainingState(model=other, optimizer=torch.optim.Adam(other.parameters()))
    state.load(tmp_path)
    assert other[1].weight is other[0].weight
    assert other[0].weight.equal(one[0].weight)
    monkeypatch.setattr(module, "_SAFE", False)
    with pytest.raises(ValueError, match="the weights of model need safetensors"):
        state.load(tmp_path)
    module.TrainingState(model=one).save(tmp_path)  # without the package: one file
    module.TrainingState(model=other).load(tmp_path)
