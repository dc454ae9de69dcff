"""A hundred thousand arms: a driver's memory stays bounded, with the policy that users get."""

from pathlib import Path

from tests.faults.cases import Drivers, sound

_SCRIPT = """
import re, sys
from pathlib import Path
import numpy as np
from bhpt.executors import SimulatedExecutor
from bhpt.tuning import resume, tune
from tests.faults.trainers import Net

def table(spec, workers, logs, options):
    return SimulatedExecutor(lambda arm, epoch: 1 / epoch + arm % 7, 1.0, workers)

if __name__ == "__main__":
    arms = np.random.default_rng(0).random((100_000, 3))
    configs = [{"x": float(x), "y": float(y), "z": float(z)} for x, y, z in arms]
    tune(Net, configs, "6 epochs", 2, sys.argv[1], max_epochs=20, executor=table)
    resume(sys.argv[1], "2 epochs", executor=table)
    # of this program alone: the largest set that getrusage tells is inherited from what started it
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print(int(peak[1]) // 1024)
"""


def test_a_hundred_thousand_arms_fit_into_a_gigabyte(tmp_path: Path) -> None:
    (tmp_path / "driver.py").write_text(_SCRIPT)
    file = tmp_path / "many.db"
    driver = Drivers().start(str(tmp_path / "driver.py"), str(file))
    said, _ = driver.communicate(timeout=240)
    assert driver.returncode == 0, said
    assert int(said) < 1024  # MiB
    state = sound(file)
    assert len(state.configs) == 100_000
    assert state.ledger.spent == 8
