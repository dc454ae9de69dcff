"""Where a study goes that the user did not name."""

import re
from datetime import UTC, datetime
from pathlib import Path

NEW_STUDIES = "runs"
"""The folder of such studies, below the current one."""


def new_study(trainer: str) -> str:
    """A file for a study of this trainer, or of this command; a new one each time."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", trainer.rpartition(":")[2])[:40].strip("-")
    return str(Path(NEW_STUDIES) / f"{name.lower()}-{datetime.now(UTC):%Y%m%d-%H%M%S}.db")
