"""BudgetedSearchCV, with scikit-learn's own checks of estimators."""

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_digits, make_regression  # type: ignore[import-untyped]
from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped]
from sklearn.exceptions import FitFailedWarning  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression, SGDClassifier  # type: ignore[import-untyped]
from sklearn.svm import SVC  # type: ignore[import-untyped]
from sklearn.utils.estimator_checks import estimator_checks_generator  # type: ignore[import-untyped]

from bhpt.domain import Misuse
from bhpt.sklearn import BudgetedSearchCV

pytestmark = pytest.mark.filterwarnings("default")

CHECKED = BudgetedSearchCV(
    SGDClassifier(random_state=0),
    {"alpha": (1e-5, 1e-1, "log")},
    "4 epochs",
    max_epochs=3,
    cv=3,
    policy="sh",
    random_state=0,
)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(CHECKED)),
    ids=lambda one: getattr(getattr(one, "func", one), "__name__", "search"),
)
def test_scikit_learn_takes_it_for_an_estimator(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize(
    ("estimator", "space", "epochs"),
    [
        (SGDClassifier(random_state=0), {"alpha": (1e-6, 1.0, "log")}, 5),
        (RandomForestClassifier(random_state=0, n_jobs=1), {"max_depth": (2, 10)}, 3),
        (LogisticRegression(), {"C": (1e-4, 10.0, "log")}, 3),
        (SVC(), {"C": (0.1, 10.0, "log")}, 1),
    ],
)
def test_what_can_go_on_is_trained_in_steps(
    estimator: Any, space: dict[str, object], epochs: int
) -> None:
    X, y = load_digits(return_X_y=True)
    search = BudgetedSearchCV(
        estimator, space, "9 epochs", max_epochs=epochs, step=5, cv=2, policy="sh", random_state=1
    ).fit(X[:300] / 16, y[:300])
    assert search.spent_ == 9 == sum(map(len, search.curves_))
    assert max(map(len, search.curves_)) <= epochs
    assert search.best_epoch_ <= epochs
    assert search.score(X[300:600] / 16, y[300:600]) > 0.5
    assert set(search.best_params_) == set(space)
    assert search.best_score_ == max(max(curve) for curve in search.curves_)
    assert len(search.cv_results_["params"]) == len(search.curves_)
    assert search.cv_results_["mean_test_score"][search.best_index_] == search.best_score_
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1


def test_a_configuration_that_the_estimator_refuses_is_passed_over() -> None:
    X, y = load_digits(return_X_y=True)
    space = [{"C": -1.0}, {"C": 1.0}, {"C": 2.0}]
    search = BudgetedSearchCV(SVC(), space, "3 epochs", cv=2, policy="sh", random_state=0)
    with pytest.warns(FitFailedWarning, match=r"'C': -1.0} has no score: Invalid"):
        search.fit(X[:100], y[:100])
    refused = search.cv_results_["params"].index({"C": -1.0})
    assert np.isnan(search.cv_results_["mean_test_score"][refused])
    assert search.best_params_["C"] > 0


@pytest.mark.parametrize("count", [2, 500])
def test_where_every_configuration_is_refused_the_estimator_says_why(count: int) -> None:
    X, y = load_digits(return_X_y=True)
    space = [{"C": -1.0 - number} for number in range(count)]
    search = BudgetedSearchCV(SVC(), space, f"{count} epochs", cv=2, policy="sh")
    with (
        pytest.warns(FitFailedWarning) as warned,
        pytest.raises(ValueError, match="The 'C' parameter of SVC"),
    ):
        search.fit(X[:100], y[:100])
    assert len(warned) < 10


def test_a_search_is_repeatable() -> None:
    X, y = make_regression(60, 4, random_state=0)
    labels = y > np.median(y)
    found = [
        BudgetedSearchCV(
            SGDClassifier(random_state=0), {"alpha": (1e-6, 1.0, "log")}, "6 epochs",
            policy="sh", random_state=3,
        ).fit(X, labels).best_params_
        for _ in range(2)
    ]  # fmt: skip
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"step": 0}, "step is trees or iterations in one epoch, at least 1, not 0"),
        ({"step": 2.5}, "step is a whole number, not 2.5"),
        ({"scoring": ["accuracy", "f1"]}, "scoring is one scorer, such as 'accuracy', not"),
        ({"budget": "$3"}, r"or bhpt\.Budget\(25, 'dollars', price_per_hour=2\.5\)"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_trained(
    given: dict[str, Any], match: str
) -> None:
    search = BudgetedSearchCV(RandomForestClassifier(), {"max_depth": (1, 4)}).set_params(**given)
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is passed over either
        with pytest.raises(Misuse, match=match):
            search.fit(X[:200], y[:200])


def test_bad_input_is_one_clear_line() -> None:
    with pytest.raises(Misuse, match="budget"):
        BudgetedSearchCV(SGDClassifier(), {"alpha": (0.1, 1.0)}, "much").fit(np.eye(10), [0, 1] * 5)


def test_without_scikit_learn_a_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import bhpt; bhpt.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: bhpt.sklearn needs scikit-learn: pip install 'bhpt[sklearn]'"
    )
