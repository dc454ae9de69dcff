"""Where a study goes that the user did not name."""

import os
import re
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

NEW_STUDIES = "runs"
"""The folder of such studies, below the current one."""


def new_study(trainer: str) -> str:
    """A file for a study of this trainer, or of this command; one that is not there yet."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", trainer.rpartition(":")[2])[:40].strip("-")
    stem = f"{name.lower()}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    endings = chain([""], (f"-{again}" for again in count(2)))  # several within one second
    files = (Path(NEW_STUDIES) / f"{stem}{ending}.db" for ending in endings)
    return str(next(file for file in files if not os.path.lexists(file)))
