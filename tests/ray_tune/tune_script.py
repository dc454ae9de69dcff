"""A Tune experiment in a process of its own: `-m tests.ray_tune.tune_script FOLDER [WORD]`.

Words: `slow`, `short` for a budget that does not reach every trial, `restore`.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ray
from ray import tune

from bhpt.ray import BHPTScheduler
from tests.executors.ray_clusters import local_ray

BUDGET, SHORT = 24, 3


def train(config: dict[str, Any]) -> None:
    """A curve that falls; it goes on from its checkpoint."""
    done = 0
    checkpoint = tune.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            done = json.loads(Path(folder, "state.json").read_text())
    while True:
        done += 1
        time.sleep(config["sleep"])
        with Path(config["count"]).open("a") as file:
            file.write(".")
        loss = abs(config["x"] - 0.3) + 1 / done
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "state.json").write_text(json.dumps(done))
            tune.report({"loss": loss}, checkpoint=tune.Checkpoint.from_directory(folder))


def tuner(root: Path, sleep: float, budget: int) -> tune.Tuner:
    """The experiment; one line differs from any other."""
    space = {"x": tune.grid_search([0.1, 0.3, 0.5, 0.7, 0.9]), "sleep": sleep}
    space["count"] = str(root / "count")
    return tune.Tuner(
        train,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            scheduler=BHPTScheduler(
                f"{budget} epochs", max_epochs=10, workers=2, policy="asha", study=root / "study.db"
            ),
        ),
        run_config=tune.RunConfig(storage_path=str(root / "results"), name="net", verbose=0),
    )


def main() -> None:
    root = Path(sys.argv[1])
    with local_ray(cpus=2):
        if "restore" in sys.argv:
            made = tune.Tuner.restore(str(root / "results" / "net"), train)
        else:
            budget = SHORT if "short" in sys.argv else BUDGET
            made = tuner(root, 0.2 if "slow" in sys.argv else 0.0, budget)
        results = made.fit()
        best = results.get_best_result()
        said = {"best": best.config["x"], "errors": results.num_errors, "trials": len(results)}
        print(json.dumps(said))
    assert not ray.is_initialized()


if __name__ == "__main__":
    main()
