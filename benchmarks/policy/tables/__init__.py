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


def pack(folder: Path, out: Path = HERE, *, beside: bool = False) -> dict[str, int]:
    """Write one archive a kind from the pairs of a folder that tell something.

    Losses are rounded to 13 binary digits, by at most a part in 8192, which halves the archives.

    Args:
        folder: Pairs NAME.npz + NAME.json.
        out: Where the archives are.
        beside: What an archive holds stays, byte by byte, and only other tables come in.

    Returns:
        How many tables of each kind there are now.
    """
    found: dict[str, list[Path]] = {}
    for about in sorted(folder.glob("*.json")):
        with np.load(about.with_suffix(".npz")) as arrays:
            if tells_something(arrays["loss"]):
                kind = json.loads(about.read_text(encoding="utf-8"))["kind"]
                found.setdefault(kind, []).append(about)
    counts = {}
    for kind, files in found.items():
        file = out / f"{kind}.tar.xz"
        inside = members(file) if beside and file.exists() else {}
        for about in files:
            if about.name not in inside:
                inside |= _pair(about)
        with tarfile.open(file, "w:xz", preset=9) as archive:
            for name, content in inside.items():
                _add(archive, name, content)
        counts[kind] = len(inside) // 2
    return counts


def members(file: Path) -> dict[str, bytes]:
    """What an archive holds, in its order."""
    found = {}
    with tarfile.open(file) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            if content is not None:
                found[entry.name] = content.read()
    return found


def _pair(about: Path) -> dict[str, bytes]:
    """A table's two files as an archive holds them."""
    with np.load(about.with_suffix(".npz")) as arrays:
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, loss=rounded(arrays["loss"]))
    return {about.with_suffix(".npz").name: buffer.getvalue(), about.name: about.read_bytes()}


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
