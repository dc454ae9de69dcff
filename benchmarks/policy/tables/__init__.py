"""Learning curves that were trained for this project, one archive a kind of job.

`benchmarks.policy.jobs`, its `deep_tables` and `benchmarks.policy.nets` made them; each table is a
pair NAME.npz + NAME.json as `bhpt bench --data` reads it, and its json says how it was made.
"""

import tarfile
from collections.abc import Sequence
from pathlib import Path

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
