"""networks.json: which weights the rows of results.csv were made with.

Rows are named by policy alone. A policy with trained networks decides otherwise once these are
retrained, so its rows of before must not count as its rows of now.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from bhpt.bench.baselines.registry import networks
from bhpt.domain import Misuse

Digests = Mapping[str, str]  # of arrays, by network


def note_networks(folder: Path, wanted: Collection[str], present: Collection[str]) -> None:
    """Note the weights of the policies that are to run; refuse rows of other weights.

    Args:
        folder: Of results.csv.
        wanted: Policies whose rows are asked for.
        present: Policies that have rows already.

    Raises:
        Misuse: Rows of a wanted policy were made with other weights, or the note cannot be read.
    """
    file = folder / "networks.json"
    noted = _read(file)
    now = {policy: used for policy in sorted({*wanted}) if (used := networks(policy))}
    for policy, used in now.items():
        if policy in present:
            _refuse_other(folder, policy, used, noted.get(policy))
    if any(noted.get(policy) != used for policy, used in now.items()):
        _write(file, {**noted, **now})


def _refuse_other(folder: Path, policy: str, used: Digests, before: Digests | None) -> None:
    if used == before:
        return
    known = _short(before) if before else "weights that nobody noted"
    raise Misuse(
        f"{folder / 'results.csv'} has rows of {policy} made with {known}; its weights are "
        f"{_short(used)} now: choose another --out, or delete these rows"
    )


def _short(digests: Digests) -> str:
    return ", ".join(f"{name} {digest[:12]}" for name, digest in digests.items())


def _read(file: Path) -> dict[str, dict[str, str]]:
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text())
        return {str(policy): dict(digests) for policy, digests in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise Misuse(f"{file} cannot be read ({error}): choose another --out") from error


def _write(file: Path, noted: Mapping[str, Digests]) -> None:
    """Replace the file at once, so that an interrupt leaves the old one."""
    fresh = file.with_suffix(".json.new")
    try:
        fresh.write_text(json.dumps(noted, indent=1) + "\n")
        fresh.replace(file)
    except OSError as error:
        raise Misuse(f"cannot write results to {file.parent}: {error.strerror}") from error
