"""Classical models by iterations: coordinate descent, online updates, SMO, k-means, t-SNE.

Notation:
    N  examples, D  features, K  clusters.
"""

import numpy as np

from .data import Floats, draw_tabular
from .job import Job, squared
from .ranges import Axis, Config

ELASTIC_NET = (
    Axis("alpha", (1e-3, 0.1), (1e-6, 30.0), log=True, always=True, also=("lambda", "reg_lambda")),
    Axis("l1_ratio", (0.1, 0.9), (0.0, 1.0), also=("elastic_net_mixing", "mixture")),
    Axis("selection", values=("cyclic", "random")),
    Axis("positive", values=(False, True)),
    Axis("fit_intercept", values=(True, False)),
    Axis("degree", (1, 2), (1, 3), whole=True, also=("polynomialfeatures__degree",)),
)
PASSIVE = (
    Axis("C", (0.01, 1.0), (1e-6, 1e3), log=True, always=True, also=("PA_C", "aggressiveness")),
    Axis("loss", values=("pa1", "pa2"), also=("learning_rate",)),
    Axis("average", values=(False, True)),
    Axis("margin", (0.3, 1.5), (0.0, 10.0), also=("epsilon",)),
    Axis("fit_intercept", values=(True, False)),
)
FOLLOW = (
    Axis("alpha", (0.03, 1.0), (1e-4, 100.0), log=True, always=True, also=("ftrl_alpha", "lr")),
    Axis("beta", (0.1, 2.0), (1e-3, 100.0), log=True, also=("ftrl_beta",)),
    Axis(
        "l1", (1e-3, 1.0), (1e-6, 300.0), log=True, also=("lambda1", "l1_regularization_strength")
    ),
    Axis(
        "l2", (1e-3, 1.0), (1e-6, 300.0), log=True, also=("lambda2", "l2_regularization_strength")
    ),
    Axis("power_t", (0.4, 0.6), (0.0, 1.0), also=("learning_rate_power",)),
)
SUPPORT = (
    Axis("C", (0.3, 30.0), (1e-4, 1e5), log=True, always=True, also=("cost", "svc__C")),
    Axis("gamma", (0.01, 0.3), (1e-6, 30.0), log=True, always=True, also=("svc__gamma", "g")),
    Axis("kernel", values=("rbf", "poly", "sigmoid"), also=("svc__kernel",)),
    Axis("coef0", (0.0, 1.0), (-2.0, 5.0), also=("svc__coef0", "r")),
    Axis("degree", (2, 3), (1, 6), whole=True, also=("svc__degree",)),
    Axis("tol", (1e-4, 1e-2), (1e-6, 1.0), log=True, also=("svc__tol", "eps")),
    Axis("class_weight", values=("none", "balanced")),
)
CLUSTERS = (
    Axis("n_clusters", (6, 16), (2, 60), log=True, whole=True, always=True, also=("k", "K")),
    Axis("batch_size", (50, 300), (4, 600), log=True, whole=True, also=("b", "mini_batch_size")),
    Axis("init", values=("k-means++", "random")),
    Axis("reassignment_ratio", (0.001, 0.05), (1e-5, 0.8), log=True),
    Axis("learning_rate_power", (0.7, 1.0), (0.0, 1.5), also=("decay_power",)),
    Axis("n_components", (2, 8), (1, 8), whole=True, also=("pca__n_components",)),
)
MAP = (
    Axis("perplexity", (10.0, 40.0), (1.0, 120.0), log=True, always=True),
    Axis("learning_rate", (20.0, 300.0), (0.1, 5000.0), log=True, also=("eta",)),
    Axis("early_exaggeration", (4.0, 15.0), (1.0, 100.0), log=True, also=("exaggeration",)),
    Axis("momentum", (0.5, 0.85), (0.0, 0.98), also=("final_momentum",)),
    Axis("init", values=("pca", "random"), also=("initialization",)),
    Axis("dof", (0.7, 1.5), (0.1, 20.0), log=True, also=("degrees_of_freedom",)),
)


def elastic_net(rng: np.random.Generator, longer: int = 1) -> Job:
    """A linear model with both penalties by coordinate descent; a unit visits some features."""
    data = draw_tabular(rng, 500, values=True)
    units = longer * int(rng.integers(6, 41))
    part = float(rng.choice([0.1, 0.3, 1.0]))
    score = bool(rng.random() < 0.4)
    spread = float(np.mean((data.held_y - data.y.mean()) ** 2))
    few = min(data.x.shape[1], 20)
    sizes = {1: data.x.shape[1], 2: few, 3: min(few, 8)}

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        degree = int(config.get("degree", 1))
        x, held = (_powers(one[:, : sizes[degree]], degree) for one in (data.x, data.held_x))
        mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
        x, held = (x - mean) / scale, (held - mean) / scale
        middle = data.y.mean() if config.get("fit_intercept", True) else 0.0
        alpha, ratio = float(config["alpha"]), float(config.get("l1_ratio", 0.5))
        w, rest = np.zeros(x.shape[1]), data.y - middle
        visits = max(1, int(part * len(w)))
        losses, at = [squared(data.held_y, np.full(len(held), middle))], 0
        for _ in range(units):
            order = (at + np.arange(visits)) % len(w)
            if config.get("selection") == "random":
                order = draw.integers(len(w), size=visits)
            at += visits
            for j in order:
                pull = x[:, j] @ rest / len(rest) + w[j]
                new = np.sign(pull) * max(abs(pull) - alpha * ratio, 0.0)
                new = new / (1 + alpha * (1 - ratio))
                new = max(new, 0.0) if config.get("positive", False) else new
                rest, w[j] = rest - (new - w[j]) * x[:, j], new
            losses.append(squared(data.held_y, held @ w + middle))
        return [loss / spread - 1 for loss in losses] if score else losses

    metric = "negative R2" if score else "validation squared error"
    about = f"{data.about}; {part:g} of the features a unit"
    return Job("elastic-net", metric, units, about, ELASTIC_NET, train)


def _powers(x: Floats, degree: int) -> Floats:
    """Features, with products of two and of three neighbours where the degree asks for them."""
    columns = [x]
    if degree > 1:
        a, b = np.triu_indices(x.shape[1])
        columns.append(x[:, a] * x[:, b])
    if degree > 2:
        columns.append(x * np.roll(x, 1, axis=1) * np.roll(x, 2, axis=1))
    return np.column_stack(columns)


def online_linear(rng: np.random.Generator, longer: int = 1) -> Job:
    """A linear classifier that sees each row once in turn: passive-aggressive, or FTRL."""
    data = draw_tabular(rng, 1200, values=False)
    units, rows = longer * int(rng.integers(8, 51)), int(rng.choice([10, 30, 100]))
    follows, score = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    signs = np.where(data.y[:, None] == np.arange(data.classes), 1.0, -1.0)
    base = float(np.mean(data.held_y != np.bincount(data.y.astype(int)).argmax()))

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        one = 1.0 if config.get("fit_intercept", True) else 0.0
        x, held = (np.column_stack([p, np.full(len(p), one)]) for p in (data.x, data.held_x))
        learner = _Follow(config, x, signs) if follows else _Passive(config, x, signs)
        order = np.concatenate(
            [draw.permutation(len(x)) for _ in range(units * rows // len(x) + 1)]
        )
        losses = [base]
        with np.errstate(all="ignore"):
            for unit in range(units):
                for row in order[unit * rows : (unit + 1) * rows]:
                    learner.see(int(row))
                said = held @ learner.weights()
                wrong = float(np.mean(said.argmax(axis=1) != data.held_y))
                losses.append(wrong if np.isfinite(said).all() else float("nan"))
        return [loss - 1 for loss in losses] if score else losses

    metric = "negative accuracy" if score else "validation error rate"
    about = f"{data.about}; {rows} rows a unit, {'FTRL' if follows else 'passive-aggressive'}"
    return Job("online-linear", metric, units, about, FOLLOW if follows else PASSIVE, train)


class _Passive:
    """As small a step as makes a row right with a margin, bounded by C."""

    def __init__(self, config: Config, x: Floats, signs: Floats) -> None:
        self.x, self.signs, self.bound = x, signs, float(config["C"])
        self.margin, self.squares = float(config.get("margin", 1.0)), config.get("loss") == "pa2"
        self.w = np.zeros((x.shape[1], signs.shape[1]))
        self.total, self.count = self.w.copy(), 0
        self.average = bool(config.get("average", False))

    def see(self, row: int) -> None:
        """One row."""
        x = self.x[row]
        short = np.maximum(0.0, self.margin - self.signs[row] * (x @ self.w))
        norm = float(x @ x) + 1e-12
        step = short / (norm + 0.5 / self.bound) if self.squares else short / norm
        step = step if self.squares else np.minimum(step, self.bound)
        self.w += np.outer(x, step * self.signs[row])
        self.total, self.count = self.total + self.w, self.count + 1

    def weights(self) -> Floats:
        """Now, or the mean of all so far."""
        return self.total / max(self.count, 1) if self.average else self.w


class _Follow:
    """Follow the regularised leader: a rate for each feature, zeros where little was seen."""

    def __init__(self, config: Config, x: Floats, signs: Floats) -> None:
        self.x, self.signs = x, signs
        self.alpha, self.beta = float(config["alpha"]), float(config.get("beta", 1.0))
        self.l1, self.l2 = float(config.get("l1", 0.0)), float(config.get("l2", 0.0))
        self.power = float(config.get("power_t", 0.5))
        self.z = np.zeros((x.shape[1], signs.shape[1]))
        self.n = np.zeros_like(self.z)

    def see(self, row: int) -> None:
        """One row."""
        x, w = self.x[row], self.weights()
        chance = 1 / (1 + np.exp(np.clip(self.signs[row] * (x @ w), -30, 30)))
        slope = np.outer(x, -self.signs[row] * chance)
        after = self.n + slope**2
        rate = (after**self.power - self.n**self.power) / self.alpha
        self.z, self.n = self.z + slope - rate * w, after

    def weights(self) -> Floats:
        """Now."""
        shrunk = np.sign(self.z) * np.maximum(np.abs(self.z) - self.l1, 0.0)
        return np.asarray(-shrunk / ((self.beta + self.n**self.power) / self.alpha + self.l2))


def support_vectors(rng: np.random.Generator, longer: int = 1) -> Job:
    """A support vector machine by sequential minimal optimisation; a unit is some pairs."""
    data = draw_tabular(rng, 400, values=False)
    units, pairs = longer * int(rng.integers(8, 41)), int(rng.choice([5, 15, 40]))
    score = bool(rng.random() < 0.5)
    y = np.where(data.y == 1, 1.0, -1.0)
    wanted = np.where(data.held_y == 1, 1.0, -1.0)
    base = float(min(np.mean(wanted == 1), np.mean(wanted == -1)))

    def train(config: Config, seed: int) -> list[float]:
        near, across = kernel(config, data.x, data.x), kernel(config, data.held_x, data.x)
        share = np.where(y > 0, np.mean(y > 0), np.mean(y < 0))
        even = config.get("class_weight") == "balanced"
        bound = float(config["C"]) * (0.5 / share if even else np.ones(len(y)))
        a, slope, losses = np.zeros(len(y)), -np.ones(len(y)), [base]
        draw = np.random.default_rng(seed)
        slope = slope + 1e-9 * draw.standard_normal(len(y))  # ties
        with np.errstate(all="ignore"):
            for _ in range(units):
                for _ in range(pairs):
                    if not smo(a, slope, y, near, bound, float(config.get("tol", 1e-3))):
                        break
                said = across @ (a * y) + _bias(a, slope, y, bound)
                losses.append(float(np.mean(np.sign(said) != wanted)))
        return [loss - 1 for loss in losses] if score else losses

    metric = "negative accuracy" if score else "validation error rate"
    about = f"{data.about}; class 1 against the others, {pairs} pairs a unit"
    return Job("support-vector-machine", metric, units, about, SUPPORT, train)


def kernel(c: Config, a: Floats, b: Floats) -> Floats:
    """How near points are to each other by a configuration's kernel, [N, M]."""
    gamma, shift = float(c["gamma"]), float(c.get("coef0", 0.0))
    if c.get("kernel") == "poly":
        return np.asarray((gamma * a @ b.T + shift) ** int(c.get("degree", 3)))
    if c.get("kernel") == "sigmoid":
        return np.asarray(np.tanh(gamma * a @ b.T + shift))
    apart = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.exp(-gamma * np.maximum(apart, 0.0)))


def smo(a: Floats, slope: Floats, y: Floats, near: Floats, bound: Floats, tol: float) -> bool:
    """Move the pair that violates most, in place; False where none violates by more than tol."""
    up = np.where(y > 0, a < bound, a > 0)
    low = np.where(y > 0, a > 0, a < bound)
    pull = -y * slope
    i = int(np.where(up, pull, -np.inf).argmax())
    j = int(np.where(low, pull, np.inf).argmin())
    if not (up.any() and low.any()) or pull[i] - pull[j] < tol:
        return False
    bend = max(near[i, i] + near[j, j] - 2 * near[i, j], 1e-12)
    room_i = bound[i] - a[i] if y[i] > 0 else a[i]
    room_j = a[j] if y[j] > 0 else bound[j] - a[j]
    move = min((pull[i] - pull[j]) / bend, room_i, room_j)
    a[i] += y[i] * move
    a[j] -= y[j] * move
    slope += y * move * (near[:, i] - near[:, j])
    return True


def _bias(a: Floats, slope: Floats, y: Floats, bound: Floats) -> float:
    free = (a > 1e-9) & (a < bound - 1e-9)
    return float(np.median((-y * slope)[free])) if free.any() else 0.0


def clusters(rng: np.random.Generator, longer: int = 1) -> Job:
    """Mini-batch k-means; how far held points are from their centres, or how pure clusters are."""
    groups, size = int(rng.integers(4, 16)), int(rng.integers(3, 20))
    centres = rng.standard_normal((groups, size)) * rng.uniform(1, 4)
    which = rng.integers(groups, size=1600)
    x = centres[which] + rng.standard_normal((1600, size)) * rng.uniform(0.5, 1.5, size)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    turned = x @ np.linalg.svd(x[:1000], full_matrices=False)[2].T
    units, score = longer * int(rng.integers(6, 51)), bool(rng.random() < 0.7)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        k = int(config["n_clusters"])
        axes = min(int(config.get("n_components", size)), size)
        seen = turned[:, :axes]
        inside, held = seen[:1000], seen[1000:]
        places = _first(inside, k, config.get("init", "k-means++"), draw)
        count = np.zeros(k)
        power = float(config.get("learning_rate_power", 1.0))
        losses = [0.0 if score else float((held**2).sum(axis=1).mean())]
        for _ in range(units):
            some = inside[draw.integers(1000, size=int(config.get("batch_size", 100)))]
            own = _apart(some, places).argmin(axis=1)
            for c in np.unique(own):
                mine = some[own == c]
                count[c] += len(mine)
                places[c] += (len(mine) / count[c]) ** power * (mine.mean(axis=0) - places[c])
            empty = count < float(config.get("reassignment_ratio", 0.01)) * count.max()
            places[empty] = inside[draw.integers(1000, size=int(empty.sum()))]
            apart = _apart(held, places)
            if score:
                losses.append(-agreement(apart.argmin(axis=1), which[1000:], k, groups))
            else:
                losses.append(float(apart.min(axis=1).mean()))
        return losses

    metric = "negative adjusted Rand index" if score else "validation inertia"
    about = f"{groups} groups in {size} dimensions"
    return Job("clustering", metric, units, about, CLUSTERS, train)


def _apart(a: Floats, b: Floats) -> Floats:
    """Squared distances, [N, K]."""
    cross = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.maximum(cross, 0.0))


def _first(x: Floats, k: int, how: str, draw: np.random.Generator) -> Floats:
    """First centres: points by chance, or far from each other."""
    if how == "random":
        return x[draw.permutation(len(x))[:k]].copy()
    places = [x[draw.integers(len(x))]]
    for _ in range(k - 1):
        far = _apart(x, np.array(places)).min(axis=1)
        places.append(x[draw.choice(len(x), p=far / far.sum())])
    return np.array(places)


def agreement(a: np.ndarray, b: np.ndarray, k: int, groups: int) -> float:
    """Adjusted Rand index of two ways to group."""
    table = np.bincount(a * groups + b, minlength=k * groups).reshape(k, groups).astype(float)

    def pairs(n: Floats) -> float:
        return float((n * (n - 1) / 2).sum())

    rows, columns = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    chance = rows * columns / pairs(np.array([float(len(a))]))
    most = (rows + columns) / 2
    return (pairs(table.ravel()) - chance) / max(most - chance, 1e-9)


def neighbour_map(rng: np.random.Generator, longer: int = 1) -> Job:
    """t-SNE; how often the nearest point on the map is of another class."""
    data = draw_tabular(rng, 2000, values=False)
    count = min(int(rng.choice([100, 200])), len(data.x))
    x, y = data.x[:count], data.y[:count]
    units, steps = longer * int(rng.integers(8, 41)), int(rng.choice([4, 10]))
    apart = _apart(x, x)
    base = float(np.mean(y != np.bincount(y.astype(int)).argmax()))

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        likely = perplexed(apart, min(float(config["perplexity"]), count / 3))
        likely = (likely + likely.T) / (2 * count)
        at = 1e-2 * draw.standard_normal((count, 2))
        if config.get("init") == "pca":
            left, size, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
            at = 1e-2 * (left * size)[:, :2] / size[0] * np.sqrt(count)
        speed, rate = np.zeros_like(at), float(config.get("learning_rate", 100.0))
        losses = [base]
        with np.errstate(all="ignore"):
            for step in range(units * steps):
                early = step < units * steps // 4
                more = float(config.get("early_exaggeration", 12.0)) if early else 1.0
                slope = _pull(at, more * likely, float(config.get("dof", 1.0)))
                memory = 0.5 if early else float(config.get("momentum", 0.8))
                speed = memory * speed - rate * slope
                at = at + speed
                if (step + 1) % steps == 0:
                    near = _apart(at, at) + 1e30 * np.eye(count)
                    sound = np.isfinite(at).all()
                    votes = y[np.argsort(near, axis=1)[:, :3]]
                    losses.append(float(np.mean(votes != y[:, None])) if sound else float("nan"))
        return losses

    about = f"{data.about}, {count} points; {steps} steps a unit"
    metric = "error rate of neighbours on the map"
    return Job("neighbour-map", metric, units, about, MAP, train)


def perplexed(apart: Floats, perplexity: float) -> Floats:
    """Chances that a point takes another for its neighbour, rows of this perplexity, [N, N]."""
    low, high = np.full(len(apart), -12.0), np.full(len(apart), 12.0)
    off = apart / apart.mean()
    chance: Floats = np.zeros_like(off)
    for _ in range(30):
        middle = (low + high) / 2
        z = -np.exp(middle)[:, None] * off
        np.fill_diagonal(z, -np.inf)
        chance = np.exp(z - z.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        wide = -(chance * np.log(chance + 1e-30)).sum(axis=1) > np.log(perplexity)
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    return chance


def _pull(at: Floats, likely: Floats, dof: float) -> Floats:
    """Gradient of t-SNE with tails of `dof` degrees of freedom, [N, 2]."""
    base = 1 / (1 + _apart(at, at) / dof)
    tails = base ** ((dof + 1) / 2)
    np.fill_diagonal(tails, 0.0)
    weight = (likely - tails / max(tails.sum(), 1e-12)) * base
    return np.asarray((2 * dof + 2) / dof * (weight.sum(axis=1)[:, None] * at - weight @ at))
