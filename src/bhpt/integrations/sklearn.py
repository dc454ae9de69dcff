"""scikit-learn: a search over hyper-parameters that trains estimators step by step.

An epoch is one more step of training on every training fold: a `partial_fit`, more trees or
more iterations of an estimator with `warm_start`, or one whole `fit` of any other.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning  # type: ignore[import-untyped]
from sklearn.metrics import check_scoring  # type: ignore[import-untyped]
from sklearn.model_selection import check_cv  # type: ignore[import-untyped]
from sklearn.model_selection._search import BaseSearchCV  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing, check_random_state, indexable  # type: ignore[import-untyped]
from sklearn.utils.multiclass import unique_labels  # type: ignore[import-untyped]

from bhpt.domain.arguments import whole_number
from bhpt.domain.budget import Budget
from bhpt.domain.errors import Misuse
from bhpt.study.study import AskedUnit, Study

_GROWING = "n_estimators"
_ITERATING = "max_iter"
_MOST_REFUSED = 10  # configurations, while none is taken: then the data are at fault


class BudgetedSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Finds the best hyper-parameters of an estimator within a hard budget.

    What looks bad after a few steps is not trained on. A configuration that the estimator refuses
    has no score and is passed over with a `FitFailedWarning`. It runs in this process; for several
    workers and studies that are kept, use `bhpt.tune`.

    Args:
        estimator: What to tune.
        space: A `ConfigurationSpace`, a dictionary of ranges or a list of configurations.
        budget: "100 epochs", "60s" or a `bhpt.Budget`; an epoch trains every fold once.
        max_epochs: How far one configuration is trained; 1 if it cannot be trained in steps.
        step: Trees or iterations in one epoch, for an estimator with `warm_start`.
        scoring: As for `GridSearchCV`, one scorer.
        cv: As for `GridSearchCV`.
        refit: Whether to train the best configuration on all data at the end.
        policy: By name; see `bhpt policies`.
        random_state: Of all randomness of the search.

    Attributes:
        best_estimator_: Trained on all data, if `refit`.
        best_params_: The best configuration.
        best_score_: Its mean score over the folds, the highest of all epochs.
        best_epoch_: After how many epochs it was seen.
        cv_results_: As of `GridSearchCV`; a configuration has the score of its best epoch.
        curves_: The mean score after every epoch, for each configuration of `cv_results_`.
        spent_: How much of the budget was used.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        space: object,
        budget: str | Budget = "100 epochs",
        *,
        max_epochs: int = 20,
        step: int = 10,
        scoring: object = None,
        cv: object = None,
        refit: bool = True,
        policy: str = "default",
        random_state: object = None,
    ) -> None:
        super().__init__(estimator=estimator, scoring=scoring, cv=cv, refit=refit)
        self.space = space
        self.budget = budget
        self.max_epochs = max_epochs
        self.step = step
        self.policy = policy
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> "BudgetedSearchCV":  # noqa: ANN401  # scikit-learn's
        """Search; `params` are handed to `fit` or `partial_fit`.

        Raises:
            Misuse: An argument makes no sense; nothing was trained.
        """
        self._refuse_nonsense()
        X, y = indexable(X, y)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = _Folds(X, y, tuple(splitter.split(X, y)), _labels(self.estimator, y), params)
        study, fits = self._study(), _Fits(folds, scorer)
        models: dict[int, list[_Steps]] = {}
        while (unit := study.ask()) is not None:
            if unit.arm not in models:
                models[unit.arm] = [self._new(unit.config) for _ in folds.splits]
            study.tell(unit, fits.scores(unit, models[unit.arm]))
        fits.require_one()
        self.scorer_, self.multimetric_ = scorer, False
        self.n_splits_ = len(folds.splits)
        self._keep(study)
        if self.refit:
            self._refit(folds)
        return self

    def _refuse_nonsense(self) -> None:
        """Refuse what the estimator would be blamed for; scikit-learn checks arguments in `fit`."""
        if whole_number("step", self.step) < 1:
            raise Misuse(f"step is trees or iterations in one epoch, at least 1, not {self.step}")
        if isinstance(self.scoring, list | tuple | set | Mapping):
            raise Misuse(f"scoring is one scorer, such as 'accuracy', not {self.scoring!r:.60}")

    def _study(self) -> Study:
        """The study that is searched."""
        return Study(
            self.space,
            self.budget,
            max_epochs=self.max_epochs if _Steps.of(self.estimator, self.step).can_go_on else 1,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            policy=self.policy,
            metric="score",
            mode="max",
        )

    def _new(self, config: Mapping[str, object]) -> "_Steps":
        return _Steps.of(clone(self.estimator).set_params(**config), self.step)

    def _keep(self, study: Study) -> None:
        """Keep what was found."""
        best = study.state.best
        if best is None:
            raise Misuse("no configuration has a finite score: look at the estimator and the data")
        self.best_params_ = dict(study.state.configs[best.arm])
        self.best_score_, self.best_epoch_ = study.best_loss, best.epoch
        self.best_index_ = list(study.state.tried).index(best.arm)
        self.curves_ = [_curve(study, arm) for arm in study.state.tried]
        self.spent_ = study.state.ledger.used
        self.cv_results_ = _results(study, self.curves_)

    def _refit(self, folds: "_Folds") -> None:
        """Train the best configuration on all data."""
        model = self._new(self.best_params_)
        for _ in range(self.best_epoch_):
            model.advance(folds.X, folds.y, folds.labels, folds.params)
        self.best_estimator_ = model.estimator
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _run_search(self, evaluate_candidates: object) -> None:
        """Not used: configurations are not evaluated as a whole."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Folds:
    """The data of a search and how it is split.

    Attributes:
        X: All rows.
        y: Their targets, if there are any.
        splits: Rows to train on and rows to score on, of each fold.
        labels: All classes, of a classifier.
        params: What `fit` was given beside the data.
    """

    X: Any
    y: Any
    splits: tuple[tuple[Any, Any], ...]
    labels: Any
    params: Mapping[str, Any]

    def step(self, models: "Sequence[_Steps]", scorer: Callable[..., float]) -> float:
        """Train the model of every fold one step further; their mean score."""
        scores = []
        for model, (train, test) in zip(models, self.splits, strict=True):
            model.advance(*self._rows(train), self.labels, self.params)
            scores.append(scorer(model.estimator, *self._rows(test)))
        return float(np.mean(scores))

    def _rows(self, rows: Any) -> tuple[Any, Any]:  # noqa: ANN401  # scikit-learn's
        """Some rows of the data, with their targets."""
        y = None if self.y is None else _safe_indexing(self.y, rows)
        return _safe_indexing(self.X, rows), y


class _Steps:
    """An estimator that is trained step by step.

    Args:
        estimator: The estimator.
        step: Trees or iterations in one epoch.
        growing: The parameter that grows, None for `partial_fit` or a whole `fit`.
    """

    def __init__(self, estimator: Any, step: int, growing: str | None) -> None:  # noqa: ANN401
        self.estimator = estimator
        self._step = step
        self._growing = growing
        self._done = 0

    @classmethod
    def of(cls, estimator: Any, step: int) -> "_Steps":  # noqa: ANN401  # scikit-learn's
        """An estimator with the way in which it goes on."""
        names = estimator.get_params(deep=False)
        if hasattr(estimator, "partial_fit") or "warm_start" not in names:
            return cls(estimator, step, None)
        growing = next((name for name in (_GROWING, _ITERATING) if name in names), None)
        return cls(estimator, step, growing)

    @property
    def can_go_on(self) -> bool:
        """Whether a second step goes on from the first."""
        return hasattr(self.estimator, "partial_fit") or self._growing is not None

    def advance(self, X: Any, y: Any, labels: Any, params: Mapping[str, Any]) -> None:  # noqa: ANN401
        """One more step."""
        self._done += 1
        if hasattr(self.estimator, "partial_fit"):
            known = {"classes": labels} if labels is not None and self._done == 1 else {}
            self.estimator.partial_fit(X, y, **known, **params)
            return
        if self._growing is not None:
            count = self._done * self._step if self._growing == _GROWING else self._step
            self.estimator.set_params(warm_start=self._done > 1, **{self._growing: count})
        with warnings.catch_warnings():
            if self._growing == _ITERATING:  # stopping before the end is what we want
                warnings.simplefilter("ignore", ConvergenceWarning)
            self.estimator.fit(X, y, **params)


class _Fits:
    """Trains units; what the estimator refuses has no score, as long as it takes others.

    Args:
        folds: The data.
        scorer: Of an estimator and data.
    """

    def __init__(self, folds: _Folds, scorer: Callable[..., float]) -> None:
        self._folds = folds
        self._scorer = scorer
        self._worked = False
        self._refused: dict[int, Exception] = {}

    def scores(self, unit: AskedUnit, models: Sequence[_Steps]) -> list[float]:
        """The scores of a unit; NaN, with a warning, if its configuration is refused.

        Raises:
            Exception: The first error of the estimator, if it has refused many and taken none.
        """
        try:
            scores = [self._folds.step(models, self._scorer) for _ in range(unit.epochs)]
        except Exception as error:  # noqa: BLE001  # the boundary to any estimator
            self._refused.setdefault(unit.arm, error)
            if len(self._refused) >= _MOST_REFUSED:
                self.require_one()
            line = f"{unit.config} has no score: {type(error).__name__}: {error}"
            warnings.warn(line, FitFailedWarning, stacklevel=3)
            return [float("nan")] * unit.epochs
        self._worked = True
        return scores

    def require_one(self) -> None:
        """Raise the first error of the estimator if it has taken no configuration at all."""
        if not self._worked and self._refused:
            raise next(iter(self._refused.values()))


def _labels(estimator: Any, y: Any) -> Any:  # noqa: ANN401  # scikit-learn's
    """All classes, which the first `partial_fit` of a classifier needs."""
    return unique_labels(y) if is_classifier(estimator) and y is not None else None


def _results(study: Study, curves: list[list[float]]) -> dict[str, Any]:
    """The best score of every configuration that was tried, in the form of `GridSearchCV`."""
    tried = list(study.state.tried)
    scores = np.array([_best(curve) for curve in curves])
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
    ranks = np.empty(len(tried), np.int32)
    ranks[order] = np.arange(1, len(tried) + 1)
    configs = [dict(study.state.configs[arm]) for arm in tried]
    names = dict.fromkeys(name for config in configs for name in config)
    columns = {f"param_{name}": [config.get(name) for config in configs] for name in names}
    return {"params": configs, "mean_test_score": scores, "rank_test_score": ranks, **columns}


def _best(curve: list[float]) -> float:
    """The highest finite score, NaN if there is none."""
    return max((score for score in curve if np.isfinite(score)), default=float("nan"))


def _curve(study: Study, arm: int) -> list[float]:
    """The scores of an arm."""
    curves = study.state.curves
    return [] if curves is None else [-float(loss) for loss in curves.of_arm(arm)]
