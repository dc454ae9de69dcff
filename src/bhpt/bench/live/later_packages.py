"""Later trainings by packages that nothing was chosen on: text, topics, quantiles, survival."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import (  # type: ignore[import-untyped]
    LatentDirichletAllocation,
)
from sklearn.ensemble import (  # type: ignore[import-untyped]
    HistGradientBoostingRegressor,
)
from sklearn.feature_extraction.text import TfidfTransformer  # type: ignore[import-untyped]
from sklearn.linear_model import SGDClassifier  # type: ignore[import-untyped]
from sklearn.metrics import f1_score, mean_pinball_loss  # type: ignore[import-untyped]

from bhpt.bench.live.job import Pickled
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import Config

_WORDS = 1500


def _documents(
    seed: int, count: int, topics: int, length: int, own: float
) -> tuple[FloatArray, IntArray]:
    """Counts of words by document, [count, words], and the main topic of each.

    Args:
        seed: Of everything.
        count: Documents.
        topics: How many.
        length: Words of a document on average.
        own: Part of the words that are of the main topic; the others are of all.
    """
    rng = np.random.default_rng(seed)
    common = rng.permutation(1 / np.arange(3, _WORDS + 3))
    kinds = common * rng.gamma(0.3, size=(topics, _WORDS))
    kinds = kinds / kinds.sum(axis=1, keepdims=True)
    main = rng.integers(topics, size=count)
    mixed = own * kinds[main] + (1 - own) * common / common.sum()
    return rng.poisson(mixed * rng.poisson(length, size=(count, 1))).astype(float), main


_TEXTS, _TEXT_CLASSES = _documents(45, 1600, 9, 60, 0.3)
_READ = 700  # of them to train on


class TextSvm(Pickled):
    """Words weighed by how rare they are, and a linear classifier with margins."""

    def __init__(self, config: Config) -> None:
        often = _TEXTS[:_READ].sum(axis=0).argsort()[::-1][: int(config["max_features"])]
        weigh = TfidfTransformer(
            norm=config["norm"], sublinear_tf=config["sublinear_tf"] == "true"
        ).fit(csr_array(_TEXTS[:_READ][:, often]))
        self.x = weigh.transform(csr_array(_TEXTS[:, often]))
        self.model = SGDClassifier(
            loss="hinge",
            penalty=config["penalty"],
            alpha=config["alpha"],
            learning_rate=config["learning_rate"],
            eta0=config["eta0"],
            random_state=0,
        )

    def step(self) -> float:
        """Train one epoch; returns one minus the mean F1 score of classes."""
        with np.errstate(all="ignore"):
            self.model.partial_fit(self.x[:_READ], _TEXT_CLASSES[:_READ], classes=np.arange(9))
            said = self.model.predict(self.x[_READ:])
        return float(1 - f1_score(_TEXT_CLASSES[_READ:], said, average="macro"))


_PAPERS = _documents(46, 360, 7, 80, 0.7)[0][:, :400]


class TopicModel(Pickled):
    """Latent Dirichlet allocation, learned from batches of 200 documents an epoch."""

    def __init__(self, config: Config) -> None:
        self.size = int(config["batch_size"])
        self.rng = np.random.default_rng(1)
        self.model = LatentDirichletAllocation(
            n_components=int(config["n_components"]),
            doc_topic_prior=config["doc_topic_prior"],
            topic_word_prior=config["topic_word_prior"],
            learning_decay=config["learning_decay"],
            learning_offset=config["learning_offset"],
            max_doc_update_iter=20,
            total_samples=200,
            random_state=0,
        )

    def step(self) -> float:
        """Train one epoch; returns the logarithm of the validation perplexity."""
        order = self.rng.permutation(200)
        for begin in range(0, 200, self.size):
            self.model.partial_fit(_PAPERS[order[begin : begin + self.size]])
        return float(np.log(self.model.perplexity(_PAPERS[200:])))


def _demand() -> tuple[FloatArray, FloatArray]:
    """Ten inputs, and a demand whose spread depends on them."""
    rng = np.random.default_rng(47)
    x = rng.standard_normal((1500, 10))
    level = 2 * np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 3]
    return x, level + rng.standard_normal(1500) * (0.3 + np.abs(x[:, 4]))


_SITUATIONS, _DEMANDS = _demand()


class QuantileBoosting(Pickled):
    """`HistGradientBoostingRegressor` of the 90% quantile, two more trees an epoch."""

    def __init__(self, config: Config) -> None:
        self.model = HistGradientBoostingRegressor(
            loss="quantile",
            quantile=0.9,
            learning_rate=config["learning_rate"],
            max_depth=int(config["max_depth"]),
            min_samples_leaf=int(config["min_samples_leaf"]),
            l2_regularization=config["l2_regularization"],
            max_features=config["max_features"],
            max_bins=int(config["max_bins"]),
            max_iter=1,
            warm_start=True,
            early_stopping=False,
            random_state=0,
        )
        self.trees = 0

    def step(self) -> float:
        """Two more trees; returns the validation pinball loss."""
        self.trees += 2
        self.model.set_params(max_iter=self.trees)
        self.model.fit(_SITUATIONS[:700], _DEMANDS[:700])
        said = self.model.predict(_SITUATIONS[700:])
        return float(mean_pinball_loss(_DEMANDS[700:], said, alpha=0.9))


def _patients() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inputs, the time until which each patient was seen, and until which the event may lie."""
    rng = np.random.default_rng(48)
    x = rng.standard_normal((1200, 12))
    risk = 0.8 * x[:, 0] - 0.6 * np.abs(x[:, 1]) + 0.7 * x[:, 2] * x[:, 3] + 0.4 * x[:, 4]
    event, left = rng.weibull(1.5, 1200) * np.exp(-risk), rng.exponential(2.5, 1200)
    return x, np.minimum(event, left), np.where(event <= left, event, np.inf)


_PATIENTS, _SEEN, _UNTIL = _patients()
_HELD = slice(600, None)


class Survival(Pickled):
    """XGBoost's accelerated failure times, two rounds an epoch."""

    def __init__(self, config: Config) -> None:
        fixed = {"objective": "survival:aft", "nthread": 1, "seed": 0, "verbosity": 0}
        self.given = {**config, **fixed}
        self.model: Any = None

    def step(self) -> float:
        """Two more rounds; returns one minus the validation concordance."""
        import xgboost  # only where this job runs

        data = xgboost.DMatrix(_PATIENTS[:600], nthread=1)
        data.set_float_info("label_lower_bound", _SEEN[:600])
        data.set_float_info("label_upper_bound", _UNTIL[:600])
        self.model = xgboost.train(self.given, data, 2, xgb_model=self.model)
        said = self.model.predict(xgboost.DMatrix(_PATIENTS[_HELD], nthread=1))
        return _discordance(np.asarray(said, dtype=float))


def _discordance(times: FloatArray) -> float:
    """Part of the pairs of which it is known who was first that are told the other way round."""
    seen, happened = _SEEN[_HELD], np.isfinite(_UNTIL[_HELD])
    known = happened[:, None] & (seen[:, None] < seen[None, :])
    wrong = (times[:, None] > times[None, :]) + 0.5 * (times[:, None] == times[None, :])
    return float(wrong[known].mean())
