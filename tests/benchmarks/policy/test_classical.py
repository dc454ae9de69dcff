"""Classical models by iterations end where scikit-learn's end."""

import numpy as np
import pytest
from benchmarks.policy.jobs import classical
from benchmarks.policy.jobs.classical import agreement, kernel, perplexed, smo
from benchmarks.policy.jobs.data import Tabular
from sklearn.linear_model import ElasticNet  # type: ignore[import-untyped]
from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]
from sklearn.svm import SVC  # type: ignore[import-untyped]


def test_coordinate_descent_ends_where_the_elastic_net_of_scikit_learn_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 6))
    y = x @ rng.standard_normal(6) + 0.1 * rng.standard_normal(120)
    data = Tabular(x[:80], y[:80], x[80:], y[80:], 0, "by hand")
    monkeypatch.setattr(classical, "draw_tabular", lambda *_, **__: data)
    scaled = (x - x[:80].mean(axis=0)) / x[:80].std(axis=0)
    wanted = ElasticNet(alpha=0.1, l1_ratio=0.4).fit(scaled[:80], y[:80]).predict(scaled[80:])
    job = classical.elastic_net(np.random.default_rng(1), longer=8)
    found = job.train({"alpha": 0.1, "l1_ratio": 0.4}, 0)
    spread = np.mean((y[80:] - y[:80].mean()) ** 2) if "R2" in job.metric else 1.0
    ends = np.mean((y[80:] - wanted) ** 2) / spread - ("R2" in job.metric)
    assert found[-1] == pytest.approx(ends, abs=1e-3)


def test_pairs_end_at_the_support_vectors_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    y = np.where(x[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    near = kernel({"gamma": 0.3}, x, x)
    a, slope = np.zeros(60), -np.ones(60)
    while smo(a, slope, y, near, np.full(60, 2.0), 1e-6):
        pass
    wanted = SVC(C=2.0, gamma=0.3, tol=1e-6).fit(x, y)
    weights = np.zeros(60)
    weights[wanted.support_] = wanted.dual_coef_[0]
    np.testing.assert_allclose(a * y, weights, atol=1e-3)


def test_agreement_is_the_adjusted_rand_index() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(5, size=200), rng.integers(3, size=200)
    b[:120] = a[:120] % 3
    assert agreement(a, b, 5, 3) == pytest.approx(adjusted_rand_score(b, a))


def test_rows_of_chances_have_the_perplexity_asked_for() -> None:
    x = np.random.default_rng(0).standard_normal((90, 4))
    apart = ((x[:, None] - x) ** 2).sum(axis=2)
    chance = perplexed(apart, 12.0)
    np.testing.assert_allclose(
        np.exp(-(chance * np.log(chance + 1e-30)).sum(axis=1)), 12, rtol=0.01
    )
