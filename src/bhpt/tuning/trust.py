"""Whose code a study runs: only what this user has started or allowed on this machine.

A study remembers its trainer: a command, or a module to import. A study from someone else
could so choose what runs on this machine. Therefore each user has a list of the studies that were
made or allowed here, by identity and trainer; no file that comes with a study can add to it.
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bhpt.domain import Misuse
from bhpt.trainers.specs import spec_from_json

Ask = Callable[[str], bool]
"""Called with what would be run; says whether that is allowed."""


def list_folder() -> Path:
    """Where this user's list is: a private folder with one empty file a study."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state else Path("~/.local/state").expanduser()
    return base / "bhpt" / "trusted"


def remember(identity: str, trainer: dict[str, Any] | None) -> bool:
    """Note that a study was made or allowed here; says whether that could be written."""
    if trainer is None:
        return True
    try:
        list_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        (list_folder() / _entry(identity, trainer)).touch(mode=0o600)
    except OSError:
        return False  # then it is asked for each time
    return True


def require_trust(study: object, identity: str, trainer: dict[str, Any], trust: bool | Ask) -> None:
    """Refuse to run what another user, or the same on another machine, has stored in a study.

    Args:
        study: Its address, for the message.
        identity: Of the study.
        trainer: What it remembers of its trainer.
        trust: Whether to run it nevertheless, or a function that decides.

    Raises:
        Misuse: It is not known, and was not allowed.
    """
    if (list_folder() / _entry(identity, trainer)).is_file():
        return
    what = str(spec_from_json(trainer))
    line = f"{study} was not made by you on this machine, and would run {what!r} with your rights"
    if not (trust if isinstance(trust, bool) else trust(line)):
        raise Misuse(f"{line}: look at it, then allow it with --trust (trust=True)")
    remember(identity, trainer)


def _entry(identity: str, trainer: dict[str, Any]) -> str:
    text = json.dumps([identity, trainer], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
