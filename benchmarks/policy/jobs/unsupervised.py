"""Models of data without labels: topics of documents, mixtures of Gaussians, embeddings of words.

Notation:
    N  examples or documents, V  words, C  components, D  features.
"""

import warnings

import numpy as np

from .data import Floats
from .job import Job
from .ranges import Axis, Config

TOPICS = (
    Axis("n_components", (5, 20), (2, 60), log=True, whole=True, also=("num_topics", "k")),
    Axis("learning_decay", (0.6, 0.9), (0.51, 1.0), also=("decay", "kappa"), always=True),
    Axis("learning_offset", (1.0, 30.0), (1.0, 1000.0), log=True, also=("offset", "tau0")),
    Axis("doc_topic_prior", (0.03, 0.5), (1e-3, 1.0), log=True, also=("alpha",)),
    Axis("topic_word_prior", (0.01, 0.3), (1e-4, 1.0), log=True, also=("eta", "beta")),
    Axis("batch_size", (16, 64), (4, 200), log=True, whole=True, also=("chunksize",)),
)
MIXTURE = (
    Axis("n_components", (3, 12), (1, 40), whole=True, log=True, always=True, also=("k",)),
    Axis("reg_covar", (1e-4, 1e-2), (1e-8, 3.0), log=True, also=("covariance_floor",)),
    Axis("covariance_type", values=("full", "diag", "spherical")),
    Axis("weight_concentration_prior", (0.1, 3.0), (1e-3, 100.0), log=True),
    Axis("init_scale", (0.5, 2.0), (0.02, 20.0), log=True),
    Axis("step_size", (0.4, 1.0), (0.02, 1.0)),
)
EMBEDDING = (
    Axis("alpha", (0.02, 0.3), (5e-4, 5.0), log=True, always=True, also=("learning_rate", "lr")),
    Axis("vector_size", (8, 32), (1, 64), log=True, whole=True, also=("dim", "size")),
    Axis("window", (2, 5), (1, 12), whole=True, also=("ws", "window_size")),
    Axis("negative", (3, 10), (1, 20), whole=True, also=("neg", "num_negatives")),
    Axis("ns_exponent", (0.5, 1.0), (-0.5, 1.5)),
    Axis("min_alpha", (1e-4, 1e-2), (1e-6, 0.05), log=True),
    Axis("sample", (1e-4, 1e-2), (1e-6, 0.1), log=True, also=("t", "subsampling_threshold")),
)


def topics(rng: np.random.Generator, longer: int = 1) -> Job:
    """Latent Dirichlet allocation by online variational steps; a unit is one or some batches."""
    words, docs, true = (int(rng.integers(*two)) for two in ((60, 200), (150, 350), (4, 15)))
    length, passes = int(rng.choice([20, 50, 120])), int(rng.choice([1, 2]))
    of_topic = rng.dirichlet(np.full(words, 0.08), size=true)
    mix = rng.dirichlet(np.full(true, 0.3), size=2 * docs)
    counts = np.array([rng.multinomial(length, p) for p in mix @ of_topic])
    units = longer * int(rng.integers(8, 31))

    def train(config: Config, seed: int) -> list[float]:
        from sklearn.decomposition import (  # type: ignore[import-untyped]
            LatentDirichletAllocation,
        )

        size = int(config.get("batch_size", 32))
        kept = {name: value for name, value in config.items() if name != "batch_size"}
        model = LatentDirichletAllocation(
            **kept, random_state=seed, total_samples=docs, max_doc_update_iter=10
        )
        draw = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(counts[:1])  # an untrained model has no perplexity
            losses = [float(np.log(model.perplexity(counts[docs : docs + 40])))]
            for _ in range(units):
                for _ in range(passes):
                    model.partial_fit(counts[draw.integers(docs, size=size)])
                losses.append(float(np.log(model.perplexity(counts[docs : docs + 40]))))
        return losses

    about = f"{docs} documents of {length} words, {words} words, {true} topics"
    return Job("topic-model", "log perplexity", units, about, TOPICS, train)


def mixture(rng: np.random.Generator, longer: int = 1) -> Job:
    """A mixture of Gaussians by expectation maximisation; some rows or all of them a step."""
    true, size = int(rng.integers(2, 15)), int(rng.choice([2, 3, 6, 10]))
    count = int(rng.choice([60, 200, 600]))
    centres = rng.uniform(1, 6) * rng.standard_normal((true, size))
    shapes = rng.standard_normal((true, size, size)) * rng.uniform(0.1, 1.0, (true, 1, size))
    which = rng.choice(true, 2 * count, p=rng.dirichlet(np.ones(true)))
    x = centres[which] + np.einsum(
        "nij,nj->ni", shapes[which], rng.standard_t(5, (2 * count, size))
    )
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    units = longer * int(rng.integers(6, 51))
    part = float(rng.choice([0.2, 1.0, 1.0]))

    def train(config: Config, seed: int) -> list[float]:
        with np.errstate(all="ignore"):
            return _expectation_maximisation(x[:count], x[count:], config, seed, units, part)

    about = f"{count} x {size}, {true} components; {part:g} of the rows a step"
    return Job("mixture-model", "negative log-likelihood", units, about, MIXTURE, train)


def _expectation_maximisation(
    x: Floats, held: Floats, config: Config, seed: int, units: int, part: float
) -> list[float]:
    """Held negative log-likelihoods a row, before and after each step."""
    draw = np.random.default_rng(seed)
    c, size = int(config["n_components"]), x.shape[1]
    step, floor = float(config.get("step_size", 1.0)), float(config.get("reg_covar", 1e-6))
    prior = float(config.get("weight_concentration_prior", 1e-6))
    shape = str(config.get("covariance_type", "full"))
    mean = x[draw.integers(len(x), size=c)]
    spread = np.stack([float(config.get("init_scale", 1.0)) ** 2 * np.eye(size)] * c)
    weight = np.full(c, 1.0 / c)
    losses = [-float(_logs(held, np.zeros((1, size)), np.eye(size)[None], np.ones(1)).mean())]
    for _ in range(units):
        some = x[draw.permutation(len(x))[: max(c, int(part * len(x)))]]
        logs = _logs_by_part(some, mean, spread, weight)
        share = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        mass = share.sum(axis=0) + 1e-9
        new_mean = share.T @ some / mass[:, None]
        apart = some[:, None] - new_mean
        new_spread = np.einsum("nc,nci,ncj->cij", share, apart, apart) / mass[:, None, None]
        new_spread = _shaped(new_spread, shape) + floor * np.eye(size)
        new_weight = (mass + prior) / (mass + prior).sum()
        mean, spread = mean + step * (new_mean - mean), spread + step * (new_spread - spread)
        weight = weight + step * (new_weight - weight)
        losses.append(-float(_logs(held, mean, spread, weight).mean()))
    return losses


def _shaped(spread: Floats, shape: str) -> Floats:
    if shape == "full":
        return spread
    along = np.einsum("cii->ci", spread)
    if shape == "spherical":
        along = np.broadcast_to(along.mean(axis=1, keepdims=True), along.shape)
    return np.asarray(along[:, :, None] * np.eye(spread.shape[1]))


def _logs(x: Floats, mean: Floats, spread: Floats, weight: Floats) -> Floats:
    return np.asarray(np.logaddexp.reduce(_logs_by_part(x, mean, spread, weight), axis=1))


def _logs_by_part(x: Floats, mean: Floats, spread: Floats, weight: Floats) -> Floats:
    """Logarithm of weight times density of each component, [N, C]."""
    spread = np.where(np.isfinite(spread), spread, 0.0) + 1e-10 * np.eye(x.shape[1])
    precision = np.linalg.inv(spread)
    apart = x[:, None] - mean
    far = np.einsum("nci,cij,ncj->nc", apart, precision, apart)
    volume = np.linalg.slogdet(spread)[1]
    return np.asarray(
        np.log(weight + 1e-12) - 0.5 * (far + volume + x.shape[1] * np.log(2 * np.pi))
    )


def embedding(rng: np.random.Generator, longer: int = 1) -> Job:
    """Embeddings of words by skip-grams with negative sampling, from text of a hidden chain."""
    words, groups = int(rng.integers(40, 150)), int(rng.integers(4, 12))
    count = int(rng.choice([1500, 4000, 8000]))
    group = rng.integers(groups, size=words)
    moves = rng.dirichlet(np.full(groups, 0.15), size=groups)
    often = 1.0 / np.arange(1.0, words + 1) ** float(rng.uniform(0.5, 1.1))
    text = _chain(rng, moves, group, often, 2 * count)
    units, steps = longer * int(rng.integers(8, 41)), int(rng.choice([5, 15, 30]))

    def train(config: Config, seed: int) -> list[float]:
        with np.errstate(all="ignore"):
            return _skip_grams(text[:count], text[count:], words, config, seed, units, steps)

    about = f"{count} words, {words} different ones in {groups} groups; {steps} steps a unit"
    return Job("word-embeddings", "pair log loss", units, about, EMBEDDING, train)


def _chain(
    rng: np.random.Generator, moves: Floats, group: np.ndarray, often: Floats, count: int
) -> np.ndarray:
    """Words of a text whose groups follow each other."""
    state, text = 0, np.zeros(count, int)
    inside = [np.flatnonzero(group == g) for g in range(len(moves))]
    for at in range(count):
        state = int(rng.choice(len(moves), p=moves[state]))
        some = inside[state] if len(inside[state]) else np.arange(len(often))
        text[at] = int(rng.choice(some, p=often[some] / often[some].sum()))
    return text


def _skip_grams(
    text: np.ndarray,
    held: np.ndarray,
    words: int,
    config: Config,
    seed: int,
    units: int,
    steps: int,
) -> list[float]:
    draw = np.random.default_rng(seed)
    size, window = int(config.get("vector_size", 16)), int(config.get("window", 3))
    negative = int(config.get("negative", 5))
    high, low = float(config["alpha"]), float(config.get("min_alpha", 1e-4))
    counts = np.bincount(text, minlength=words) + 1.0
    rare = np.sqrt(float(config.get("sample", 1e-2)) / (counts / counts.sum()))
    noise = counts ** float(config.get("ns_exponent", 0.75))
    noise /= noise.sum()
    kept = text[draw.random(len(text)) < np.clip(rare[text], 0.02, 1.0)]
    kept = kept if len(kept) > 4 * window else text
    left, right = draw.uniform(-0.5, 0.5, (words, size)) / size, np.zeros((words, size))
    false = draw.integers(words, size=(len(held) - 1, 5))
    losses = [float(6 * np.log(2.0))]
    for unit in range(units):
        for step in range(steps):
            part = (unit * steps + step) / (units * steps)
            rate = max(low, high * (1 - part) + low * part)
            at = draw.integers(window, len(kept) - window, size=128)
            reach = draw.integers(1, window + 1, size=128) * draw.choice([-1, 1], size=128)
            a = kept[at]
            others = np.column_stack(
                [kept[at + reach], draw.choice(words, (128, negative), p=noise)]
            )
            wanted = np.zeros(others.shape)
            wanted[:, 0] = 1.0
            score = np.einsum("md,mnd->mn", left[a], right[others])
            error = wanted - 1 / (1 + np.exp(-np.clip(score, -30, 30)))
            up_left = np.einsum("mn,mnd->md", error, right[others])
            np.add.at(right, others, rate * error[:, :, None] * left[a][:, None])
            np.add.at(left, a, rate * up_left)
        near = (left[held[:-1]] * right[held[1:]]).sum(axis=1)
        far = np.einsum("md,mnd->mn", left[held[:-1]], right[false])
        losses.append(float(np.logaddexp(0, -near).mean() + np.logaddexp(0, far).sum(1).mean()))
    return losses
