"""Optuna: the trials of its studies as curves, to learn from or to look at."""

from pathlib import Path
from typing import Any

import optuna

from bhpt.beliefs.earlier_studies import EarlierStudy, summarise
from bhpt.domain import Curves
from bhpt.domain.errors import Misuse

_USED = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)


def trials_of(study: Any) -> tuple[Curves, list[dict[str, Any]]]:  # noqa: ANN401  # an optuna.Study
    """The trials of a study of Optuna as learning curves, and their configurations.

    Trials that were completed or pruned are arms. Their intermediate values are losses, one epoch
    a value; a trial without any has its value alone. What is maximised is turned round.

    Args:
        study: An `optuna.Study` with one objective.

    Raises:
        Misuse: It has several objectives, or no trial that has ended with a value.
    """
    if len(study.directions) != 1:
        raise Misuse(f"the study {study.study_name!r} has several objectives, not one")
    sign = -1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1.0
    trials = [trial for trial in study.get_trials(deepcopy=False, states=_USED) if _values(trial)]
    if not trials:
        raise Misuse(f"the study {study.study_name!r} has no trial that ended with a value")
    losses = [[sign * value for value in _values(trial)] for trial in trials]
    curves = Curves.of(losses, max(map(len, losses)))
    return curves, [dict(trial.params) for trial in trials]


def load_trials(place: str) -> tuple[Curves, list[dict[str, Any]]]:
    """The same from `STORAGE` or `STORAGE#STUDY`: a journal file, or the address of a database.

    Raises:
        Misuse: There is no such study, or there are several and none is named.
    """
    where, _, name = place.partition("#")
    file = _file_of(where)
    if file is not None and not file.is_file():  # Optuna would make one
        raise Misuse(f"there is no study of Optuna at {where!r}: no such file")
    storage: Any = where
    if "://" not in where:
        backend = optuna.storages.journal.JournalFileBackend(where)
        storage = optuna.storages.JournalStorage(backend)
    names = optuna.get_all_study_names(storage)
    chosen = [one for one in names if one == name] if name else names
    if len(chosen) != 1:
        there = f"name one, {where}#STUDY: {', '.join(names)}" if names else "it has none"
        raise Misuse(f"there is no study of Optuna at {place!r}: {there}")
    return trials_of(optuna.load_study(study_name=chosen[0], storage=storage))


def _file_of(where: str) -> Path | None:
    """The file of a storage: a journal, or a database of SQLite; None if it is on a server."""
    if "://" not in where:
        return Path(where)
    scheme, _, path = where.partition(":///")
    return Path(path) if scheme.startswith("sqlite") and path else None


def earlier_trials(source: Any) -> EarlierStudy:  # noqa: ANN401  # a place or an optuna.Study
    """What a new study can learn from one of Optuna: `learn_from=[earlier_trials(…)]`.

    Args:
        source: An `optuna.Study`, or where one is kept, see `load_trials`.

    Raises:
        Misuse: There is no such study, or nothing can be learned from it.
    """
    return summarise(*(load_trials(source) if isinstance(source, str) else trials_of(source)))


def _values(trial: Any) -> list[float]:  # noqa: ANN401  # an optuna.trial.FrozenTrial
    values = [trial.intermediate_values[step] for step in sorted(trial.intermediate_values)]
    return values or ([trial.value] if trial.value is not None else [])
