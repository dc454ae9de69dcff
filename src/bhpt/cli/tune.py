"""`bhpt tune`: a training job and a limit in, the best model out."""

import json
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Annotated, get_args

import typer

from bhpt.beliefs.earlier_studies import EarlierStudy
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
from bhpt.domain import Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.domain.objective import Direction
from bhpt.spaces import Config, load_configs, load_space
from bhpt.study import Training
from bhpt.study.creation import planned_training
from bhpt.study.new_study import new_study
from bhpt.trainers.import_names import resolve
from bhpt.trainers.specs import Command, Imported, TrainerSpec
from bhpt.tuning import Result
from bhpt.tuning import tune as tune_study
from bhpt.tuning.tune import IfExists
from bhpt.views.formatting import to_stderr

_FILE_SUFFIXES = (".json", ".yaml", ".yml")


def tune(
    budget: Annotated[
        str, typer.Option(help='The hard limit: "200 epochs", "2h", "90s" or "$25".')
    ],
    space: Annotated[
        str,
        typer.Option(help="Ranges or configurations: a .json or .yaml file, or MODULE:NAME."),
    ],
    trainer: Annotated[
        str | None,
        typer.Argument(
            help="A class with step, save and load, or a function that reports or yields.",
            metavar="MODULE:TRAINER",
        ),
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="A command that trains, instead of MODULE:TRAINER.")
    ] = None,
    loss_regex: Annotated[
        str | None,
        typer.Option(
            help="With --command: finds the metric in a line that it prints, in brackets.",
            metavar="PATTERN",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Units that train side by side.")] = 1,
    study: Annotated[
        str | None,
        typer.Option(
            help="A new file, or postgresql://…; a new file under runs if not given.",
            metavar="FILE|URL",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all randomness.")] = 0,
    price_per_hour: Annotated[
        float | None, typer.Option(help="What one busy worker costs an hour, for a $ budget.")
    ] = None,
    unit_epochs: Annotated[
        int | None,
        typer.Option(help="Epochs in one unit, the smallest amount that is decided on."),
    ] = None,
    max_epochs: Annotated[
        int | None,
        typer.Option(help="How far one may train; half of an epoch budget if not given."),
    ] = None,
    policy: Annotated[str, typer.Option(help="See `bhpt policies`.")] = "default",
    candidates: Annotated[
        int | None, typer.Option(help="Configurations drawn from the space at the start.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help="Which of the reported metrics decides what is best.")
    ] = "loss",
    direction: Annotated[
        str, typer.Option("--mode", help="Whether the metric is minimised or maximised: min, max.")
    ] = "min",
    initial: Annotated[
        str | None,
        typer.Option(help="Configurations to try first: a .json or .yaml file.", metavar="FILE"),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            help="A hyper-parameter that is not tuned; may be repeated.", metavar="NAME=VALUE"
        ),
    ] = None,
    stop_when: StopWhen = None,
    if_exists: Annotated[
        str,
        typer.Option(help="If the study is there already: error, or resume to go on with it."),
    ] = "error",
    learn_from: Annotated[
        list[str] | None,
        typer.Option(
            help="An earlier study to learn from, its file or address; may be repeated. "
            "optuna:STORAGE#STUDY is one of Optuna.",
            metavar="STUDY",
        ),
    ] = None,
    untrained_loss: Annotated[
        float | None, typer.Option(help="The metric of an untrained model, if you know it.")
    ] = None,
    unit_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which a unit counts as hung; learned if not given."),
    ] = None,
    retries: Annotated[
        int, typer.Option(help="How often a failed unit is tried again before its arm is given up.")
    ] = 2,
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
    """Find the best model that a budget can buy."""
    shown = progress_mode(progress)
    options = options_from(
        disk_cap, grace, patience, gpus_per_worker, threads_per_worker, checkpoints
    )
    executor = executor_from(where_units_run, address, cpus_per_worker, resources, shared_files)
    spec = _spec(trainer, command, loss_regex)
    objective = _objective(metric, direction)
    parsed = Budget.parse(budget, price_per_hour)
    where = study if study is not None else new_study(str(spec))

    def run() -> Result:
        searched, settled = _space(space), read_settings(fixed or [])
        training = Training(untrained=untrained_loss, limit_s=unit_limit, retries=retries)
        return tune_study(
            spec,
            searched,
            parsed,
            workers,
            where,
            seed,
            training=planned_training(parsed, unit_epochs, max_epochs, searched, settled, training),
            policy=policy,
            candidates=candidates,
            metric=objective.metric,
            mode=objective.mode,
            initial=[] if initial is None else _initial(initial),
            fixed=settled,
            stop_when=stop_when,
            if_exists=_if_exists(if_exists),
            track=track or (),
            progress=shown,
            learn_from=[_earlier(one) for one in learn_from or ()],
            options=options,
            executor=executor,
            note=to_stderr,
        )

    run_session(where, run)


def _objective(metric: str, direction: str) -> Objective:
    for one in get_args(Direction):
        if direction == one:
            return Objective(metric, one)
    raise Misuse(f"--mode {direction!r}: use min or max")


def _initial(text: str) -> list[Config]:
    """Configurations from a file.

    Raises:
        Misuse: There is none, or it holds something else.
    """
    if text.lstrip().startswith(("{", "[")):
        raise Misuse("--initial takes a file: write the configurations to initial.json first")
    return load_configs(text)


def _earlier(given: str) -> str | EarlierStudy:
    """An earlier study as `tune` takes it: those of Optuna are read here."""
    kind, colon, place = given.partition(":")
    if (kind, colon) != ("optuna", ":"):
        return given
    try:
        from bhpt.integrations.optuna import earlier_trials  # an extra, and slow to import
    except ModuleNotFoundError:
        raise Misuse(f"--learn-from {given} needs Optuna: pip install 'bhpt[optuna]'") from None
    return earlier_trials(place)


def _if_exists(text: str) -> IfExists:
    for one in get_args(IfExists):
        if text == one:
            found: IfExists = one
            return found
    raise Misuse(f"--if-exists {text!r}: use error or resume")


def read_settings(texts: Sequence[str]) -> dict[str, object]:
    """Hyper-parameters from `NAME=VALUE`; a value is JSON, or text if it is not."""
    found: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Misuse(f"--fixed {text!r}: write NAME=VALUE, such as momentum=0.9")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _spec(trainer: str | None, command: str | None, loss_regex: str | None) -> TrainerSpec:
    if trainer is not None and command is not None:
        raise Misuse(f"either MODULE:TRAINER, here {trainer}, or --command trains, not both")
    if trainer is None and command is None:
        raise Misuse('say what to train: MODULE:TRAINER, or --command "python train.py"')
    if trainer is None:
        return Command.parse(command or "", loss_regex)
    if loss_regex is not None:
        raise Misuse("--loss-regex is for a --command: a trainer in Python reports its metrics")
    return Imported(trainer)


def _space(text: str) -> object:
    """A file, or a name in a module for what no file can hold.

    Raises:
        Misuse: It is neither.
    """
    if text.lstrip().startswith(("{", "[")):
        raise Misuse("--space takes a file or MODULE:NAME: write the ranges to space.json first")
    module, colon, _ = text.rpartition(":")
    if colon and not text.lower().endswith(_FILE_SUFFIXES) and not Path(text).exists():
        if not module:
            raise Misuse(f"--space {text!r} is neither a file nor MODULE:NAME")
        with redirect_stderr(StringIO()):  # a module that dies says so in one line
            return resolve(text)
    return load_space(text)
