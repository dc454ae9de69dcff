"""Learning curves that were trained for this project, one archive a kind of job.

`benchmarks.policy.jobs`, its `deep_tables` and `benchmarks.policy.nets` made them; each table is a
pair NAME.npz + NAME.json as `bhpt bench --data` reads it, and its json says how it was made.
"""

import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent


def kinds() -> list[str]:
    """The kinds that there are archives of."""
    return sorted(file.name.removesuffix(".tar.xz") for file in HERE.glob("*.tar.xz"))


def unpack(out: Path, wanted: Sequence[str] = ()) -> int:
    """Write tables into a folder.

    Args:
        out: The folder; it is made if it is not there.
        wanted: Kinds; all of them if none.

    Returns:
        How many tables were written.
    """
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for kind in wanted or kinds():
        with tarfile.open(HERE / f"{kind}.tar.xz") as archive:
            archive.extractall(out, filter="data")
            count += sum(name.endswith(".npz") for name in archive.getnames())
    return count


def pack(folder: Path, out: Path = HERE) -> dict[str, int]:
    """Write one archive a kind from the pairs of a folder that tell something.

    Losses are rounded to 13 binary digits, by at most a part in 8192, which halves the archives.

    Returns:
        How many tables of each kind there are now.
    """
    found: dict[str, list[Path]] = {}
    for about in sorted(folder.glob("*.json")):
        with np.load(about.with_suffix(".npz")) as arrays:
            if tells_something(arrays["loss"]):
                kind = json.loads(about.read_text(encoding="utf-8"))["kind"]
                found.setdefault(kind, []).append(about)
    for kind, files in found.items():
        with tarfile.open(out / f"{kind}.tar.xz", "w:xz", preset=9) as archive:
            for about in files:
                with np.load(about.with_suffix(".npz")) as arrays:
                    buffer = io.BytesIO()
                    np.savez(buffer, allow_pickle=False, loss=rounded(arrays["loss"]))
                _add(archive, about.with_suffix(".npz").name, buffer.getvalue())
                _add(archive, about.name, about.read_bytes())
    return {kind: len(files) for kind, files in found.items()}


def tells_something(loss: NDArray[np.float32]) -> bool:
    """Whether a table has arms enough, some get below their start, and they end differently."""
    arms = len(loss)
    start = np.nanmedian(loss[:, 0])
    with np.errstate(invalid="ignore"):
        best = np.where(np.isfinite(loss[:, 1:]), loss[:, 1:], np.inf).min(axis=1)
    return arms >= 8 and bool(best.min() < start) and len(np.unique(best)) > arms // 4


def rounded(loss: NDArray[np.float32]) -> NDArray[np.float32]:
    """The nearest numbers with 13 binary digits."""
    part, power = np.frexp(loss)
    return np.asarray(np.ldexp(np.round(part * 8192) / 8192, power), np.float32)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """A file without owner and date, so that the same tables make the same archive."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
