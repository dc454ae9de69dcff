"""`bhpt tune` and `bhpt resume`: a training job and a limit in, the best model out."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Annotated, get_args

import typer

from bhpt.beliefs.earlier_studies import EarlierStudy
from bhpt.cli import threads
from bhpt.cli.errors import CommandFailed, Interrupted
from bhpt.cli.final_report import print_report
from bhpt.domain import Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.domain.objective import Direction
from bhpt.executors.ray_options import Ray
from bhpt.spaces import load_configs, load_space
from bhpt.storage import Address
from bhpt.study import Training
from bhpt.study.creation import default_epochs
from bhpt.trainers.import_names import resolve
from bhpt.trainers.specs import Command, Imported, TrainerSpec
from bhpt.tuning import Options, Paused, Result
from bhpt.tuning import resume as resume_study
from bhpt.tuning import tune as tune_study
from bhpt.tuning.executor_choice import ExecutorChoice
from bhpt.tuning.tune import IfExists
from bhpt.views.consoles import page
from bhpt.views.formatting import one_line, printable, resume_command
from bhpt.views.live_view import Mode

_LOOK_S = 0.25  # between two looks at a running study
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LARGEST_SIZE = 2.0**63
_SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_FILE_SUFFIXES = (".json", ".yaml", ".yml")

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
    shown = _mode(progress)
    options = _options(disk_cap, grace, patience, gpus_per_worker, threads_per_worker, checkpoints)
    executor = _executor(where_units_run, address, cpus_per_worker, resources, shared_files)
    spec = _spec(trainer, command, loss_regex)
    objective = _objective(metric, direction)
    parsed = Budget.parse(budget, price_per_hour)
    where = study if study is not None else _new_study(spec)

    def run() -> Result:
        searched, settled = _space(space), read_settings(fixed or [])
        unit = 1 if unit_epochs is None else unit_epochs
        most = default_epochs(parsed, unit, searched, settled) if max_epochs is None else max_epochs
        return tune_study(
            spec,
            searched,
            parsed,
            workers,
            where,
            seed,
            training=Training(
                unit,
                most,
                untrained=untrained_loss,
                limit_s=unit_limit,
                retries=retries,
                grows=unit_epochs is None,
            ),
            policy=policy,
            candidates=candidates,
            metric=objective.metric,
            mode=objective.mode,
            initial=[] if initial is None else load_configs(initial),
            fixed=settled,
            stop_when=stop_when,
            if_exists=_if_exists(if_exists),
            track=track or (),
            progress=shown,
            learn_from=[_earlier(one) for one in learn_from or ()],
            options=options,
            executor=executor,
            note=_to_stderr,
        )

    _run(where, run)


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
    """Go on with a study from where it was, with more budget if you like."""
    shown = _mode(progress)
    options = _options(disk_cap, grace, patience, gpus_per_worker, threads_per_worker, checkpoints)
    executor = _executor(where_units_run, address, cpus_per_worker, resources, shared_files)
    _run(
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
            note=_to_stderr,
            without_checkpoints=without_checkpoints,
            trust=trust or _asked,
        ),
    )


def _asked(what: str) -> bool:
    """Ask the person at the terminal whether to run a study's trainer; no without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(f"{printable(what)}. Run it?", err=True)


def _run(study: str, session: Callable[[], Result]) -> None:
    """One session, and the report at its end.

    Raises:
        Interrupted: Ctrl-C came first.
        CommandFailed: There is nothing to show.
    """
    threads.give_back()
    shown = str(Address.parse(study))
    try:
        result = session()
    except Paused as error:
        raise Paused(f"{error}; then: {resume_command(shown)}") from error
    except KeyboardInterrupt:
        raise Interrupted(f"if {shown} is there, go on with: {resume_command(shown)}") from None
    print_report(result, page())
    if result.status == "interrupted":
        raise Interrupted(f"go on with: {resume_command(result.study)}")
    if result.is_checkpoint_lost:
        raise CommandFailed(
            "the checkpoint of the best model was damaged or removed after it was saved: more "
            "budget trains that configuration again"
        )
    if result.best_config is None:
        raise CommandFailed(why_nothing(result))


def why_nothing(result: Result) -> str:
    """Why a session ended without a best configuration."""
    state = result.state
    if not state.reports:
        said = next((one.message for one in reversed(state.attempts) if one.message), "")
        why = f"the last one: {one_line(said)}" if said else "give it a larger budget"
        return f"no unit was finished within {state.ledger.budget}: {why}"
    return f"no finite {state.plan.objective.metric} was seen: every configuration diverged"


def _objective(metric: str, direction: str) -> Objective:
    for one in get_args(Direction):
        if direction == one:
            return Objective(metric, one)
    raise Misuse(f"--mode {direction!r}: use min or max")


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


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _executor(
    where: str,
    address: str | None,
    cpus: float | None,
    resources: Sequence[str] | None,
    shared_files: bool,
) -> ExecutorChoice:
    """Where units run, from the options of the command line."""
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


def _mode(text: str) -> Mode:
    for mode in get_args(Mode):
        if text == mode:
            found: Mode = mode
            return found
    raise Misuse(f"--progress {text!r}: use auto, live, plain or off")


def _options(
    disk_cap: str | None,
    grace: float,
    patience: float,
    gpus: float | None,
    threads: int | None,
    checkpoints: str | None,
) -> Options:
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
    """Bytes of `500MB`, `20 GB` or `1GiB`."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]) > 0:
        raise Misuse(f"--disk-cap {text!r} is not a size: write 500MB or 20GB")
    base = 1024 if found[3] else 1000
    size = float(found[1]) * base ** _POWERS[found[2].lower()]
    if size > _LARGEST_SIZE:
        raise Misuse(f"--disk-cap {text[:40]!r} is more than any disk holds: write 500MB or 20GB")
    return int(size)


def _spec(trainer: str | None, command: str | None, loss_regex: str | None) -> TrainerSpec:
    if (trainer is None) == (command is None):
        raise Misuse('say what to train: MODULE:TRAINER, or --command "python train.py"')
    if trainer is None:
        return Command.parse(command or "", loss_regex)
    if loss_regex is not None:
        raise Misuse("--loss-regex is for a --command: a trainer in Python reports its metrics")
    return Imported(trainer)


def _space(text: str) -> object:
    """A file, or a name in a module for what no file can hold."""
    module, colon, _ = text.rpartition(":")
    if colon and not text.lower().endswith(_FILE_SUFFIXES) and not Path(text).exists():
        if not module:
            raise Misuse(f"--space {text!r} is neither a file nor MODULE:NAME")
        with redirect_stderr(StringIO()):  # a module that dies says so in one line
            return resolve(text)
    return load_space(text)


def _new_study(spec: TrainerSpec) -> str:
    """A file for a study that the user did not name; a new one each time."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(spec).rpartition(":")[2])[:40].strip("-")
    return str(Path("runs") / f"{name.lower()}-{datetime.now(UTC):%Y%m%d-%H%M%S}.db")
