"""Options of the command line that `tune` and `resume` share, and what they mean."""

import re
from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from bhpt.domain import Misuse
from bhpt.executors.ray_options import Ray
from bhpt.tuning import Options
from bhpt.tuning.executor_choice import ExecutorChoice
from bhpt.views.live_view import Mode

_LOOK_S = 0.25  # between two looks at a running study
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LARGEST_SIZE = 2.0**63
_SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)

ProgressOption = Annotated[
    str, typer.Option(help="How to show progress: auto, live, plain or off.", metavar="HOW")
]
DiskCap = Annotated[
    str | None,
    typer.Option(help="Most that checkpoints may take on the disk, such as 20GB.", metavar="SIZE"),
]
Gpus = Annotated[
    float | None,
    typer.Option(help="GPUs of each worker: 1, 2, ..., or 0.5 to share one.", metavar="N"),
]
Threads = Annotated[
    int | None,
    typer.Option(help="Threads of each worker; its share of the cores if not given.", metavar="N"),
]
Where = Annotated[
    str, typer.Option("--executor", help="Where units run: local or ray.", metavar="WHERE")
]
ClusterAddress = Annotated[
    str | None,
    typer.Option("--address", help="With --executor ray: of the cluster, such as HOST:6379."),
]
Cpus = Annotated[
    float | None,
    typer.Option(help="With --executor ray: cores of each worker, 1 if not given.", metavar="N"),
]
Resources = Annotated[
    list[str] | None,
    typer.Option(
        "--resource",
        help="With --executor ray: what else each worker needs; may be repeated.",
        metavar="NAME=N",
    ),
]
SharedFiles = Annotated[
    bool,
    typer.Option(
        "--shared-files",
        help="With --executor ray: the study's folder has the same path on every node.",
    ),
]
CheckpointsAt = Annotated[
    str | None,
    typer.Option(
        "--checkpoints",
        help="Where checkpoints lie if not beside the study: s3://BUCKET/PATH, or any fsspec path.",
        metavar="URL",
    ),
]
StopWhen = Annotated[
    float | None,
    typer.Option(help="A value of the metric that is good enough: start nothing more then."),
]
Track = Annotated[
    list[str] | None,
    typer.Option(
        help="Where else to write curves: tensorboard, mlflow, wandb, optuna; repeatable.",
        metavar="NAME[:PLACE]",
    ),
]
Grace = Annotated[
    float, typer.Option(help="Seconds between asking a unit to end and killing it.", metavar="S")
]

Patience = Annotated[
    float,
    typer.Option(
        help="Seconds to wait for a locked or restarted store when nothing trains; then pause.",
        metavar="S",
    ),
]


def executor_from(
    where: str,
    address: str | None,
    cpus: float | None,
    resources: Sequence[str] | None,
    shared_files: bool,
) -> ExecutorChoice:
    """Where units run, from `--executor` and the options that go with it.

    Raises:
        Misuse: They do not go together, or there is no such executor.
    """
    if where == "ray":
        return Ray(
            address=address,
            num_cpus=1.0 if cpus is None else cpus,
            resources=_amounts(resources or ()),
            shared_files=shared_files,
        )
    if where != "local":
        raise Misuse(f"--executor {where!r}: use local or ray")
    if address is not None or cpus is not None or resources or shared_files:
        raise Misuse(
            "--address, --cpus-per-worker, --resource and --shared-files need --executor ray"
        )
    return "local"


def _amounts(texts: Sequence[str]) -> dict[str, float]:
    """Resources from `NAME=N`."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, amount = text.partition("=")
        try:
            found[name] = float(amount)
        except ValueError:
            raise Misuse(f"--resource {text!r}: write NAME=N, such as tpu=1") from None
    return found


def progress_mode(text: str) -> Mode:
    """How to show progress, from `--progress`.

    Raises:
        Misuse: There is no such way.
    """
    for mode in get_args(Mode):
        if text == mode:
            found: Mode = mode
            return found
    raise Misuse(f"--progress {text!r}: use auto, live, plain or off")


def options_from(
    disk_cap: str | None,
    grace: float,
    patience: float,
    gpus: float | None,
    threads: int | None,
    checkpoints: str | None,
) -> Options:
    """How a session runs.

    Raises:
        Misuse: The cap is not a size, or another option is out of its range.
    """
    cap = None if disk_cap is None else size_in_bytes(disk_cap)
    return Options(
        grace,
        cap,
        look_s=_LOOK_S,
        patience_s=patience,
        gpus_per_worker=gpus,
        threads_per_worker=threads,
        checkpoints=checkpoints,
    )


def size_in_bytes(text: str) -> int:
    """Bytes of `500MB`, `20 GB` or `1GiB`.

    Raises:
        Misuse: It is not a size, or larger than any disk.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]) > 0:
        raise Misuse(f"--disk-cap {text!r} is not a size: write 500MB or 20GB")
    base = 1024 if found[3] else 1000
    size = float(found[1]) * base ** _POWERS[found[2].lower()]
    if size > _LARGEST_SIZE:
        raise Misuse(f"--disk-cap {text[:40]!r} is more than any disk holds: write 500MB or 20GB")
    return int(size)
