"""`bhpt resume`: go on with a study from where it was."""

import sys
from typing import Annotated

import typer

from bhpt.cli.session_options import (
    CheckpointsAt,
    ClusterAddress,
    Cpus,
    DiskCap,
    Gpus,
    Grace,
    Patience,
    ProgressOption,
    Resources,
    SharedFiles,
    StopWhen,
    Threads,
    Track,
    Where,
    executor_from,
    options_from,
    progress_mode,
)
from bhpt.cli.session_run import run_session
from bhpt.tuning import resume as resume_study
from bhpt.views.formatting import printable, to_stderr


def resume(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
    add_budget: Annotated[
        str | None, typer.Option(help='More of the same kind, such as "50 epochs".')
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Units that train side by side; as before if not given.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Another policy from here on; see `bhpt policies`.")
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run the trainer of a study that somebody else has made."),
    ] = False,
    without_checkpoints: Annotated[
        bool,
        typer.Option(
            "--without-checkpoints",
            help="Go on although the checkpoints are elsewhere, and train what is needed again.",
        ),
    ] = False,
    stop_when: StopWhen = None,
    gpus_per_worker: Gpus = None,
    threads_per_worker: Threads = None,
    track: Track = None,
    where_units_run: Where = "local",
    address: ClusterAddress = None,
    cpus_per_worker: Cpus = None,
    resources: Resources = None,
    shared_files: SharedFiles = False,
    checkpoints: CheckpointsAt = None,
    disk_cap: DiskCap = None,
    grace: Grace = 5.0,
    patience: Patience = 120.0,
    progress: ProgressOption = "auto",
) -> None:
    """Go on with a study, with more budget if you like."""
    shown = progress_mode(progress)
    options = options_from(
        disk_cap, grace, patience, gpus_per_worker, threads_per_worker, checkpoints
    )
    executor = executor_from(where_units_run, address, cpus_per_worker, resources, shared_files)
    run_session(
        study,
        lambda: resume_study(
            study,
            add_budget,
            workers,
            policy=policy,
            stop_when=stop_when,
            track=track or (),
            progress=shown,
            options=options,
            executor=executor,
            note=to_stderr,
            without_checkpoints=without_checkpoints,
            trust=trust or asked_to_trust,
        ),
    )


def asked_to_trust(what: str) -> bool:
    """Ask the person at the terminal whether to run a study's trainer; no without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(f"{printable(what)}. Run it?", err=True)
