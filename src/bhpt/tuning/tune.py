"""`tune` and `resume`: a training job and a limit in, the best model out."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from bhpt.beliefs.earlier_studies import EarlierStudy
from bhpt.domain import Memory, Misuse, Objective
from bhpt.domain.arguments import (
    number,
    refuse_one_text,
    refuse_other_than,
    refuse_uncallable,
    whole_number,
)
from bhpt.domain.budget import Budget
from bhpt.domain.objective import Direction
from bhpt.policies.interface import Policy, refuse_side_by_side
from bhpt.storage import Address, Exists, create_store, open_store, read_store
from bhpt.study import Keep, Study, Training, fold
from bhpt.study.creation import first_events, planned_training, summarised
from bhpt.study.new_study import new_study
from bhpt.study.study import chosen_policy, policy_name, shown_by
from bhpt.study.whole_ends import note_of_whole_ends
from bhpt.trackers import Tracker, find_tracker
from bhpt.trainers.specs import TrainerSpec, check_names, spec_of, spec_to_json
from bhpt.tuning.executor_choice import ExecutorChoice, executor_maker
from bhpt.tuning.finished_units import OnUnit
from bhpt.tuning.options import Options
from bhpt.tuning.result import Result
from bhpt.tuning.session import create, create_or_open, go_on, more_than_stored
from bhpt.tuning.session_setup import SessionHooks, SessionRequest
from bhpt.tuning.trust import Ask
from bhpt.views.live_view import Mode, Watch

IfExists = Literal["error", "resume"]
"""What `tune` does where the study is there already."""


def stored(where: str | Path, if_exists: IfExists = "error") -> Keep:
    """Keep an ask/tell study in a new file or on a server: `Study(…, keep=stored("net.db"))`.

    Args:
        where: The file or address.
        if_exists: What to do if the study is there already: refuse ("error"), or go on with it
            ("resume"). Then the study's budget is what it may cost altogether, and units that were
            asked for before and never told are given out again.
    """
    _refuse_other_than(if_exists)
    return partial(create_store if if_exists == "error" else create_or_open, where)


def open_study(
    where: str | Path, policy: str | Policy | None = None, *, restart: bool = False
) -> Study:
    """Go on with an ask/tell study that was kept.

    Args:
        where: Its file or address.
        policy: The one that the study remembers if None.
        restart: Whether units that were asked for before and never told are given out again.
    """
    return Study.resume(open_store(where), policy, restart=restart)


def earlier_study(where: str | Path) -> EarlierStudy:
    """What a new study can learn from one that is kept: `Study(…, learn_from=[…])`.

    Nothing is locked or written.

    Raises:
        Misuse: There is none, it is damaged, or a newer version wrote it.
    """
    with read_store(where) as reader:
        return summarised(reader.folded().state)


def _earlier(given: str | Path | Study | EarlierStudy) -> EarlierStudy:
    return earlier_study(given) if isinstance(given, str | Path) else shown_by(given)


def _warn(note: str) -> None:
    """As a warning at the line that called `tune` or `resume`."""
    warnings.warn(note, stacklevel=3)


def tune(
    trainer: object,
    space: object,
    budget: str | Budget,
    workers: int = 1,
    study: str | Path | None = None,
    seed: int = 0,
    *,
    price_per_hour: float | None = None,
    training: Training | None = None,
    unit: int | None = None,
    max_epochs: int | None = None,
    policy: str | Policy = "default",
    candidates: int | None = None,
    metric: str = "loss",
    mode: Direction = "min",
    initial: Sequence[Mapping[str, object]] = (),
    fixed: Mapping[str, object] | None = None,
    stop_when: float | None = None,
    on_unit: OnUnit | None = None,
    if_exists: IfExists = "error",
    gpus_per_worker: float | None = None,
    track: Sequence[str | Tracker] = (),
    progress: bool | Mode = False,
    learn_from: Sequence[str | Path | Study | EarlierStudy] = (),
    options: Options = Options(),  # noqa: B008  # frozen
    watch: Watch | None = None,
    memory: Memory | None = None,
    executor: ExecutorChoice = "local",
    note: Callable[[str], None] | None = None,
) -> Result:
    """Find the best model that a budget can buy.

    Args:
        trainer: A class with `step`, `save` and `load`, a function that calls `bhpt.report` or
            yields losses, or the name of one.
        space: A `ConfigurationSpace`, a dictionary of ranges or a list of configurations.
        budget: "200 epochs", "2h", "90s", "$25" or a `Budget`.
        workers: How many units train side by side.
        study: A new file, or `postgresql://…`; a file under `runs` if None.
        seed: Of all randomness.
        price_per_hour: What one busy worker costs, for a budget in dollars.
        training: How one arm is trained, in detail; instead of `unit` and `max_epochs`.
        unit: Epochs in one unit, the smallest amount that is decided on. One if not given, and
            more under a deadline where an epoch is shorter than what a unit costs beside it.
        max_epochs: How far an arm may train; None for half of a budget in epochs, 100 otherwise.
        policy: By name, or a policy object.
        candidates: How many configurations are drawn from a space at the start.
        metric: Which of the reported metrics decides what is best.
        mode: Whether it is minimised ("min") or maximised ("max").
        initial: Configurations that are tried first.
        fixed: Hyper-parameters that are not tuned but have these values.
        stop_when: A value of the metric that is good enough: nothing more is started then.
        on_unit: Called with each unit that has ended.
        if_exists: What to do if the study is there already: refuse ("error"), or go on with it
            ("resume"), in which case `budget` is what it may cost altogether.
        gpus_per_worker: GPUs of each worker, as `Options` has it.
        track: Where else curves are written, one run an arm: names such as "tensorboard" or
            "mlflow:sqlite:///mlflow.db", or objects.
        progress: Whether to show progress: live on a terminal, plain lines elsewhere; or how.
        learn_from: Earlier studies by file or address, as `Study` objects, or as `earlier_study`
            reads them; what they showed is one more expert, weighted by how well it predicts.
        options: How the session runs.
        watch: Called now and then with the study and what runs, instead of `progress`.
        memory: Holds what the study's predictor prepares, for a `watch` that predicts too.
        executor: Where units run: "local" worker processes, a "ray" cluster, `bhpt.Ray(...)` with
            its address and resources, or a function that makes an executor.
        note: Called with a line that the user should read; a warning by default, also at the end
            of a session that has found no model.

    Returns:
        The best value of the metric, its configuration and its checkpoint.

    Raises:
        Misuse: Bad input, one clear line; nothing was created.
        Paused: The disk is full or the store locked; resume when that is put right.
        TrainerBroken: The trainer never works.
    """
    parsed = Budget.parse(budget, price_per_hour)
    workers, seed = whole_number("workers", workers), whole_number("seed", seed)
    candidates = None if candidates is None else whole_number("candidates", candidates)
    refuse_one_text("learn_from", learn_from, "['runs/earlier.db']")
    _refuse_two_trainings(training, unit, max_epochs)
    spec = spec_of(trainer)
    chosen = chosen_policy(policy)
    refuse_side_by_side(chosen, workers)
    request = _request(spec, chosen, workers, executor, options, gpus_per_worker)
    hooks = _hooks(policy, progress, watch, memory, on_unit, note, stop_when, track)
    _refuse_other_than(if_exists)
    first = first_events(
        space,
        parsed,
        training=training or planned_training(parsed, unit, max_epochs, space, fixed),
        seed=seed,
        policy=policy_name(policy),
        workers=workers,
        trainer=spec_to_json(spec),
        candidates=candidates,
        objective=Objective(metric, mode),
        initial=initial,
        fixed=fixed,
        earlier=tuple(_earlier(one) for one in learn_from),
    )
    begun = fold(first)
    check_names(spec, begun.configs)
    if (line := note_of_whole_ends(begun.plan)) is not None:
        hooks.note(line)
    address = Address.parse(study if study is not None else new_study(str(spec)))
    try:
        result = create(address, first, request, hooks)
    except Exists:
        if if_exists == "error":
            raise
        result = go_on(address, more_than_stored(address, first, parsed), request, hooks)
    return _with_warning(result, note)


def resume(
    study: str | Path,
    add_budget: str | Budget | None = None,
    workers: int | None = None,
    *,
    trainer: object = None,
    policy: str | Policy | None = None,
    stop_when: float | None = None,
    on_unit: OnUnit | None = None,
    gpus_per_worker: float | None = None,
    track: Sequence[str | Tracker] = (),
    progress: bool | Mode = False,
    options: Options = Options(),  # noqa: B008  # frozen
    watch: Watch | None = None,
    memory: Memory | None = None,
    executor: ExecutorChoice = "local",
    note: Callable[[str], None] | None = None,
    without_checkpoints: bool = False,
    trust: bool | Ask = False,
) -> Result:
    """Go on with a study from where it was.

    Args:
        study: Its file or address.
        add_budget: More of the same kind.
        workers: How many units train side by side; as before if None.
        trainer: The one that the study remembers if None.
        policy: The one that the study remembers if None.
        stop_when: A value of the metric that is good enough: nothing more is started then.
        on_unit: Called with each unit that has ended.
        gpus_per_worker: GPUs of each worker, as `Options` has it.
        track: Where else curves are written, one run an arm: names such as "tensorboard" or
            "mlflow:sqlite:///mlflow.db", or objects.
        progress: Whether to show progress: live on a terminal, plain lines elsewhere; or how.
        options: How the session runs.
        watch: Called now and then with the study and what runs, instead of `progress`.
        memory: Holds what the study's predictor prepares, for a `watch` that predicts too.
        executor: Where units run: "local" worker processes, a "ray" cluster, `bhpt.Ray(...)` with
            its address and resources, or a function that makes an executor.
        note: Called with a line that the user should read; a warning by default, also at the end
            of a session that has found no model.
        without_checkpoints: Whether to go on although the study's folder is missing, of another
            study or ahead of it. What is there is set aside, never removed, and what is needed
            again is trained at its true cost.
        trust: Whether to run the trainer that the study remembers although this user has not made
            the study on this machine, or a function that is asked then.

    Raises:
        Misuse: There is no such study, it is damaged or in use, or the budget does not fit.
        Paused: The disk is full or the store locked; resume when that is put right.
        TrainerBroken: The trainer never works.
    """
    spec = None if trainer is None else spec_of(trainer)
    chosen = None if policy is None else chosen_policy(policy)
    result = go_on(
        Address.parse(study),
        add_budget,
        _request(spec, chosen, workers, executor, options, gpus_per_worker),
        _hooks(policy, progress, watch, memory, on_unit, note, stop_when, track),
        without_checkpoints=without_checkpoints,
        trust=trust,
    )
    return _with_warning(result, note)


def _refuse_two_trainings(
    training: Training | None, unit: int | None, max_epochs: int | None
) -> None:
    """Refuse a training in detail that is none, or beside what it says already.

    Raises:
        Misuse: One of these.
    """
    if training is None:
        return
    refuse_other_than("training", training, Training, "bhpt.Training(unit=2)")
    if unit is not None or max_epochs is not None:
        raise Misuse(
            "give training, or unit and max_epochs, not both: Training has unit and epochs"
        )


def _refuse_other_than(if_exists: str) -> None:
    if if_exists not in get_args(IfExists):
        raise Misuse(f"if_exists {if_exists!r}: use 'error' or 'resume'")


def _request(
    spec: TrainerSpec | None,
    policy: Policy | None,
    workers: int | None,
    executor: ExecutorChoice,
    options: Options,
    gpus: float | None,
) -> SessionRequest:
    """What a session is asked to run with."""
    workers = None if workers is None else whole_number("workers", workers)
    gpus = None if gpus is None else number("gpus_per_worker", gpus)
    refuse_other_than("options", options, Options, "bhpt.Options(grace_s=10)")
    given = options if gpus is None else replace(options, gpus_per_worker=gpus)
    return SessionRequest(spec, policy, workers, executor_maker(executor), given)


def _hooks(
    policy: str | Policy | None,
    progress: bool | Mode,
    watch: Watch | None,
    memory: Memory | None,
    on_unit: OnUnit | None,
    note: Callable[[str], None] | None,
    stop_when: float | None,
    track: Sequence[str | Tracker],
) -> SessionHooks:
    """The callbacks and views of a session."""
    refuse_one_text("track", track, "['tensorboard']")
    for name, callback in (("on_unit", on_unit), ("note", note), ("watch", watch)):
        if callback is not None:
            refuse_uncallable(name, callback, "print")
    if memory is not None:
        refuse_other_than("memory", memory, Memory, "bhpt.domain.Memory()")
    enough = None if stop_when is None else number("stop_when", stop_when)
    if enough is not None and math.isnan(enough):
        raise Misuse("stop_when is a value of the metric that is good enough, not nan")
    return SessionHooks(
        policy=policy if isinstance(policy, str) else None,
        progress=progress,
        watch=watch,
        memory=memory or Memory(),
        on_unit=on_unit,
        note=note or _warn,
        stop_when=enough,
        trackers=[find_tracker(one) for one in track],
    )


def _with_warning(result: Result, note: Callable[[str], None] | None) -> Result:
    """The result; one without a model is a warning where nobody is called with notes."""
    if note is None and result.status == "done" and result.why_nothing:
        warnings.warn(result.why_nothing, stacklevel=3)
    return result
