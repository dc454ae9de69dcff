"""Recommenders from clicks alone, and chances of clicks learnt while they come.

Notation:
    U  users, I  items, F  factors.
"""

import numpy as np

from .data import Floats
from .job import Job
from .ranges import Axis, Config

PAIRS = (
    Axis("learning_rate", (0.02, 0.2), (1e-4, 3.0), log=True, always=True, also=("lr", "alpha")),
    Axis("factors", (8, 32), (1, 64), log=True, whole=True, also=("n_factors", "embedding_dim")),
    Axis("regularization", (1e-3, 0.03), (1e-6, 3.0), log=True, also=("reg", "user_reg")),
    Axis("init_std", (0.01, 0.2), (1e-4, 3.0), log=True, also=("init_scale",)),
    Axis("num_negatives", (1, 5), (1, 20), whole=True, also=("neg_sampling", "n_neg")),
    Axis("loss", values=("bpr", "warp-like", "logistic"), also=("objective",)),
)
WEIGHTED = (
    Axis("factors", (8, 32), (1, 48), log=True, whole=True, always=True, also=("rank", "k")),
    Axis("regularization", (0.1, 5.0), (1e-3, 500.0), log=True, also=("lambda", "regParam")),
    Axis("alpha", (5.0, 40.0), (0.1, 1000.0), log=True, always=True, also=("confidence",)),
    Axis("init_std", (0.01, 0.2), (1e-4, 3.0), log=True),
)
CLICKS = (
    Axis("alpha", (0.03, 0.3), (1e-4, 10.0), log=True, always=True, also=("lr_eta", "l_rate")),
    Axis("beta", (0.3, 2.0), (1e-3, 50.0), log=True, also=("lr_beta",)),
    Axis("l1", (1e-3, 1.0), (1e-6, 100.0), log=True, also=("lambda1", "l1_regularization")),
    Axis("l2", (1e-3, 1.0), (1e-6, 100.0), log=True, also=("lambda2", "l2_regularization")),
    Axis("learning_rate_power", (-0.6, -0.4), (-1.0, -0.05)),
    Axis("bits", (8, 11), (3, 12), whole=True, also=("hash_bits", "b")),
)


def implicit(rng: np.random.Generator, longer: int = 1) -> Job:
    """Items that users took, by pairs of items or by weighted least squares; scores go up."""
    users, items, rank = (int(rng.integers(*two)) for two in ((60, 200), (50, 150), (2, 8)))
    likes = rng.standard_normal((users, rank)) @ rng.standard_normal((rank, items))
    likes = likes / np.sqrt(rank) + rng.uniform(0.3, 1.5) * rng.standard_normal(items)
    each = int(rng.integers(4, 20))
    noise = float(rng.choice([0.3, 1.0]))
    noisy = likes + noise * rng.gumbel(size=likes.shape)
    order = noisy.argsort(axis=1)[:, ::-1]
    seen, held = np.zeros((users, items), bool), np.zeros((users, items), bool)
    mixed = np.stack([rng.permutation(row[: 2 * each]) for row in order])
    np.put_along_axis(seen, mixed[:, :each], True, axis=1)
    np.put_along_axis(held, mixed[:, each:], True, axis=1)
    by_pairs = bool(rng.random() < 0.65)
    units = longer * int(rng.integers(8, 41))

    def train(config: Config, seed: int) -> list[float]:
        run = _by_pairs if by_pairs else _weighted
        with np.errstate(all="ignore"):
            return run(config, seed, seen, held, units)

    about = f"{users} users, {items} items, {each} taken each, noise {noise:g}"
    axes = PAIRS if by_pairs else WEIGHTED
    return Job("implicit-recommender", "negative nDCG at 10", units, about, axes, train)


def gain(scores: Floats, seen: np.ndarray, held: np.ndarray) -> float:
    """Mean normalised discounted gain of the first ten items; NaN where scores are not finite."""
    if not np.isfinite(scores).all():
        return float("nan")
    first = np.where(seen, -np.inf, scores).argsort(axis=1)[:, ::-1][:, :10]
    falls = 1 / np.log2(np.arange(2, 12))
    got = np.take_along_axis(held, first, axis=1) @ falls
    return float(np.mean(got / falls[: min(10, int(held.sum(axis=1).min()))].sum()))


def _by_pairs(c: Config, seed: int, seen: np.ndarray, held: np.ndarray, units: int) -> list[float]:
    draw = np.random.default_rng(seed)
    size, scale = int(c.get("factors", 16)), float(c.get("init_std", 0.05))
    rate, reg = float(c["learning_rate"]), float(c.get("regularization", 0.01))
    how, rivals = str(c.get("loss", "bpr")), max(1, int(c.get("num_negatives", 1)))
    p, q = (scale * draw.standard_normal((n, size)) for n in seen.shape)
    bias = np.zeros(seen.shape[1])
    users, taken = np.nonzero(seen)
    losses = [-gain(draw.random(seen.shape), seen, held)]
    for _ in range(units):
        for some in np.array_split(draw.permutation(len(users)), max(1, len(users) // 100)):
            u, i = users[some], taken[some]
            j = draw.integers(seen.shape[1], size=(len(u), rivals))
            theirs = np.einsum("mf,mnf->mn", p[u], q[j]) + bias[j]
            j = j[np.arange(len(u)), theirs.argmax(axis=1) if how == "warp-like" else 0]
            apart = (p[u] * (q[i] - q[j])).sum(axis=1) + bias[i] - bias[j]
            pull = 1 / (1 + np.exp(np.clip(apart, -30, 30)))
            push = pull
            if how == "logistic":
                pull = 1 / (1 + np.exp(np.clip((p[u] * q[i]).sum(axis=1) + bias[i], -30, 30)))
                push = 1 / (1 + np.exp(-np.clip((p[u] * q[j]).sum(axis=1) + bias[j], -30, 30)))
            up = rate * (pull[:, None] * q[i] - push[:, None] * q[j] - reg * p[u])
            up_i = rate * (pull[:, None] * p[u] - reg * q[i])
            up_j = rate * (-push[:, None] * p[u] - reg * q[j])
            np.add.at(p, u, up)
            np.add.at(q, i, up_i)
            np.add.at(q, j, up_j)
            np.add.at(bias, i, rate * (pull - reg * bias[i]))
            np.add.at(bias, j, rate * (-push - reg * bias[j]))
        losses.append(-gain(p @ q.T + bias, seen, held))
    return losses


def _weighted(c: Config, seed: int, seen: np.ndarray, held: np.ndarray, units: int) -> list[float]:
    draw = np.random.default_rng(seed)
    size, scale = int(c["factors"]), float(c.get("init_std", 0.05))
    reg, weight = float(c.get("regularization", 1.0)), float(c["alpha"])
    both = [scale * draw.standard_normal((n, size)) for n in seen.shape]
    losses = [-gain(draw.random(seen.shape), seen, held)]
    for unit in range(units):
        side = unit % 2  # a unit solves one side
        mask = (seen if side == 0 else seen.T).astype(float)
        other = both[1 - side]
        inner = other.T @ other + reg * np.eye(size)
        whole = inner + weight * np.einsum("ui,if,ig->ufg", mask, other, other)
        wanted = (1 + weight) * mask @ other
        both[side] = np.linalg.solve(whole, wanted[:, :, None])[:, :, 0]
        losses.append(-gain(both[0] @ both[1].T, seen, held))
    return losses


def clicks(rng: np.random.Generator, longer: int = 1) -> Job:
    """Chances of clicks by follow-the-regularised-leader on hashed words, one pass."""
    fields = int(rng.integers(3, 9))
    sizes = np.exp(rng.uniform(np.log(5), np.log(400), fields)).astype(int)
    effect = [rng.standard_normal(n) * rng.uniform(0.2, 1.5) for n in sizes]
    rare, count = rng.uniform(-3, -0.5), int(rng.choice([2000, 5000]))
    units, drift = longer * int(rng.integers(10, 51)), float(rng.choice([0.0, 0.0, 1.0]))
    rows = np.column_stack([(n * rng.random(2 * count) ** 2).astype(int) for n in sizes])
    logit = rare + sum(e[rows[:, f]] for f, e in enumerate(effect)) / np.sqrt(fields)
    logit = logit + drift * np.sin(np.arange(2 * count) / count * 3)
    y = (rng.random(2 * count) < 1 / (1 + np.exp(-logit))).astype(float)
    salts = rng.integers(1, 10**6, fields)
    as_seen = bool(rng.random() < 0.5)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        room = 2 ** int(config.get("bits", 10))
        keys = (rows * 2654435761 + salts * 97) % 4294967291 % room
        order = draw.permutation(count)
        z, n = np.zeros((2, room + 1))
        keys = np.column_stack([keys, np.full(len(keys), room)])  # the last weight is of all rows
        losses = [float(np.log(2.0))]
        for part in np.array_split(order, units):
            surprise = []
            for some in np.array_split(part, max(1, len(part) // 8)):
                said = _chance(config, z, n, keys[some])
                surprise.append(_logistic(y[some], said))
                push = np.repeat((said - y[some])[:, None], fields + 1, axis=1)
                before = n[keys[some]]
                power = -float(config.get("learning_rate_power", -0.5))
                change = ((before + push**2) ** power - before**power) / float(config["alpha"])
                np.add.at(z, keys[some], push - change * _weights(config, z, n)[keys[some]])
                np.add.at(n, keys[some], push**2)
            held = _logistic(y[count:], _chance(config, z, n, keys[count:]))
            losses.append(float(np.mean(surprise)) if as_seen else held)
        return losses

    about = f"{count} rows of {fields} words, {y.mean():.2f} clicked, drift {drift:g}"
    metric = "progressive log loss" if as_seen else "validation log loss"
    return Job("click-prediction", metric, units, about, CLICKS, train)


def _weights(c: Config, z: Floats, n: Floats) -> Floats:
    l1, l2 = float(c.get("l1", 0.0)), float(c.get("l2", 0.0))
    power = -float(c.get("learning_rate_power", -0.5))
    down = (float(c.get("beta", 1.0)) + n**power) / float(c["alpha"]) + l2
    return np.asarray(np.where(np.abs(z) <= l1, 0.0, -(z - np.sign(z) * l1) / down))


def _chance(c: Config, z: Floats, n: Floats, keys: np.ndarray) -> Floats:
    score = _weights(c, z, n)[keys].sum(axis=1)
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -30, 30))))


def _logistic(y: Floats, said: Floats) -> float:
    said = np.clip(said, 1e-9, 1 - 1e-9)
    return float(-np.mean(y * np.log(said) + (1 - y) * np.log(1 - said)))
