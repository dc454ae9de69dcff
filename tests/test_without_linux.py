"""Where Linux's calls are missing, all but local workers is there."""

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import os
for name in ("waitid", "P_PID", "WNOWAIT", "sched_getaffinity", "pidfd_open", "posix_fadvise"):
    if hasattr(os, name):
        delattr(os, name)
import bhpt
assert all(getattr(bhpt, name) is not None for name in bhpt.__all__)
study = bhpt.Study({"x": (0.0, 1.0)}, "4 epochs", policy="sh")
while (unit := study.ask()) is not None:
    study.tell(unit, [unit.config["x"]] * unit.epochs)
assert study.best_loss < 1
try:
    bhpt.tune("job:Net", {"x": (0.0, 1.0)}, "4 epochs", study="x.db")
except bhpt.Misuse as error:
    print(error)
"""


def test_import_and_ask_and_tell_work_without_them(tmp_path: Path) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    said = "local workers need Linux: run bhpt there or in a container"
    assert done.stdout.strip() == said, done.stderr
    assert not list(tmp_path.iterdir())
