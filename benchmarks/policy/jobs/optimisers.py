"""Optimisers without gradients, tuned on test functions, tours and small controls.

A unit is a number of generations or moves; the loss is the value of the best or of the present
point, the length of a tour, or the negative return of a controller.

Notation:
    P  points of a population, D  dimensions.
"""

from collections.abc import Callable, Iterator

import numpy as np

from .data import Floats
from .job import Job
from .ranges import Axis, Config

SWARM = (
    Axis("w", (0.5, 0.8), (0.0, 1.1), also=("inertia", "inertia_weight"), always=True),
    Axis("c1", (1.0, 2.2), (0.0, 4.0), also=("cognitive", "phi_p")),
    Axis("c2", (1.0, 2.2), (0.0, 4.0), also=("social", "phi_g")),
    Axis("n_particles", (15, 50), (3, 150), log=True, whole=True, also=("swarm_size",)),
)
DIFFERENTIAL = (
    Axis("mutation", (0.4, 0.9), (0.02, 2.0), also=("F", "differential_weight"), always=True),
    Axis("recombination", (0.3, 0.95), (0.0, 1.0), also=("CR", "crossover_probability")),
    Axis("popsize", (15, 50), (5, 150), log=True, whole=True, also=("NP", "population_size")),
    Axis("strategy", values=("rand1bin", "best1bin")),
)
COVARIANCE = (
    Axis("sigma0", (0.2, 1.0), (1e-3, 20.0), log=True, always=True, also=("sigma", "step_size")),
    Axis("popsize", (8, 24), (4, 100), log=True, whole=True, also=("lambda_", "population")),
    Axis("CMA_mu", (0.3, 0.6), (0.1, 1.0), also=("mu_ratio", "elite_fraction")),
    Axis("c_sigma", (0.1, 0.5), (0.005, 1.0), log=True),
    Axis("c_cov", (0.05, 0.3), (0.001, 1.0), log=True, also=("cov_learning_rate",)),
)
GENETIC = (
    Axis("mutation_rate", (0.03, 0.3), (1e-3, 1.0), log=True, always=True, also=("mutpb", "pm")),
    Axis("crossover_rate", (0.5, 0.95), (0.0, 1.0), also=("cxpb", "pc")),
    Axis("mutation_scale", (0.02, 0.3), (1e-4, 5.0), log=True, also=("sigma",)),
    Axis("tournament_size", (2, 5), (1, 15), whole=True, also=("tournsize",)),
    Axis("pop_size", (20, 60), (4, 150), log=True, whole=True, also=("population_size",)),
    Axis("elitism", (1, 4), (0, 20), whole=True, also=("n_elite", "keep_parents")),
)
ANNEALING = (
    Axis(
        "initial_temperature",
        (0.03, 0.5),
        (1e-4, 100.0),
        log=True,
        always=True,
        also=("T0", "t_max"),
    ),
    Axis("cooling_rate", (0.9, 0.99), (0.3, 0.99999), always=True, also=("alpha", "decay")),
    Axis("steps_per_temperature", (20, 150), (1, 400), log=True, whole=True, also=("n_iter",)),
    Axis("reheat", (0.0, 0.2), (0.0, 1.0), also=("restart_probability",)),
    Axis("move", values=("swap", "reverse", "insert")),
)
STRATEGIES = (
    Axis("learning_rate", (0.02, 0.2), (1e-4, 5.0), log=True, always=True, also=("lr", "alpha")),
    Axis("sigma", (0.03, 0.3), (1e-3, 5.0), log=True, also=("noise_std", "noise_stdev")),
    Axis("population_size", (10, 30), (2, 50), log=True, whole=True, also=("npop", "popsize")),
    Axis("weight_decay", (1e-4, 1e-2), (1e-6, 0.5), log=True, also=("l2coeff",)),
    Axis("lr_decay", (0.97, 1.0), (0.7, 1.0)),
    Axis("rank_fitness", values=(True, False), also=("use_ranks",)),
    Axis("antithetic", values=(True, False), also=("mirrored_sampling",)),
)

Points = Iterator[float]
Function = Callable[[Floats], Floats]


def function(rng: np.random.Generator) -> tuple[Function, int, str]:
    """A test function on rows of points, shifted and turned; dimensions, and what it is."""
    size = int(rng.choice([2, 5, 10, 20]))
    shift = rng.uniform(-2, 2, size)
    turn = (
        np.linalg.qr(rng.standard_normal((size, size)))[0] if rng.random() < 0.5 else np.eye(size)
    )
    stretch = 10 ** (np.linspace(0, 3, size) if size > 1 else np.zeros(1))
    name = str(rng.choice(["sphere", "ellipsoid", "rosenbrock", "rastrigin", "ackley", "griewank"]))

    def value(points: Floats) -> Floats:
        z = np.clip((points - shift) @ turn, -1e6, 1e6)
        if name == "sphere":
            found = (z**2).sum(axis=1)
        elif name == "ellipsoid":
            found = (stretch * z**2).sum(axis=1)
        elif name == "rosenbrock":
            found = (100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + z[:, :-1] ** 2).sum(axis=1)
        elif name == "rastrigin":
            found = (z**2 + 10 - 10 * np.cos(2 * np.pi * z)).sum(axis=1)
        elif name == "ackley":
            root = np.sqrt((z**2).mean(axis=1))
            found = (
                20 - 20 * np.exp(-0.2 * root) + np.e - np.exp(np.cos(2 * np.pi * z).mean(axis=1))
            )
        else:
            waves = np.cos(z / np.sqrt(np.arange(1, size + 1))).prod(axis=1)
            found = 1 + (z**2).sum(axis=1) / 40 - waves
        return np.asarray(found)

    return value, size, f"{name} in {size} dimensions"


def population(rng: np.random.Generator, longer: int = 1) -> Job:
    """A swarm, differential evolution, a genetic algorithm or CMA-ES on a test function."""
    value, size, about = function(rng)
    axes, search = [
        (SWARM, _swarm),
        (DIFFERENTIAL, _differential),
        (GENETIC, _genetic),
        (COVARIANCE, _covariance),
    ][int(rng.integers(4))]
    units, evaluations = longer * int(rng.integers(8, 51)), int(rng.choice([30, 100, 300]))
    noise = float(rng.choice([0.0, 0.0, 0.3]))
    logs = bool(rng.random() < 0.5)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        spent, best, ends = 0, np.inf, []

        def watched(points: Floats) -> Floats:
            nonlocal spent, best
            found = value(points)
            for one in found:
                best, spent = min(best, float(one)), spent + 1
                if spent % evaluations == 0:
                    ends.append(best)
            return found + noise * draw.standard_normal(len(found))

        with np.errstate(all="ignore"):
            start = float(np.median(value(draw.uniform(-4, 4, (200, size)))))
            generations = search(config, draw, size, watched)
            while len(ends) < units:
                next(generations)
        found = [start, *ends[:units]]
        return [float(np.log10(f + 1e-9)) for f in found] if logs else found

    metric = "logarithm of the best value" if logs else "best value"
    about = f"{search.__name__[1:]}; {about}, noise {noise:g}; {evaluations} values a unit"
    return Job("population-search", metric, units, about, axes, train)


def _swarm(c: Config, draw: np.random.Generator, size: int, value: Function) -> Points:
    count = int(c.get("n_particles", 30))
    x, v = draw.uniform(-4, 4, (count, size)), draw.uniform(-1, 1, (count, size))
    own, known = x.copy(), value(x)
    while True:
        a, b = draw.random((2, count, size))
        lead = own[known.argmin()]
        v = float(c["w"]) * v + float(c.get("c1", 1.5)) * a * (own - x)
        v = np.clip(v + float(c.get("c2", 1.5)) * b * (lead - x), -4, 4)
        x = x + v
        now = value(x)
        better = now < known
        own[better], known[better] = x[better], now[better]
        yield float(known.min())


def _differential(c: Config, draw: np.random.Generator, size: int, value: Function) -> Points:
    count = int(c.get("popsize", 30))
    x = draw.uniform(-4, 4, (count, size))
    known = value(x)
    while True:
        i, j, k = (draw.permutation(count) for _ in range(3))
        base = x[known.argmin()] if c.get("strategy") == "best1bin" else x[i]
        moved = base + float(c["mutation"]) * (x[j] - x[k])
        cross = draw.random((count, size)) < float(c.get("recombination", 0.7))
        cross[np.arange(count), draw.integers(size, size=count)] = True
        child = np.where(cross, moved, x)
        now = value(child)
        better = now < known
        x[better], known[better] = child[better], now[better]
        yield float(known.min())


def _genetic(c: Config, draw: np.random.Generator, size: int, value: Function) -> Points:
    count = int(c.get("pop_size", 40))
    x = draw.uniform(-4, 4, (count, size))
    known = value(x)
    kept = min(int(c.get("elitism", 1)), count - 1)
    while True:
        rivals = draw.integers(count, size=(2, count, int(c.get("tournament_size", 3))))
        parents = np.take_along_axis(rivals, known[rivals].argmin(axis=2)[:, :, None], axis=2)
        mother, father = x[parents[0, :, 0]], x[parents[1, :, 0]]
        mixes = draw.random((count, 1)) < float(c.get("crossover_rate", 0.8))
        child = np.where(mixes & (draw.random((count, size)) < 0.5), father, mother)
        hit = draw.random((count, size)) < float(c["mutation_rate"])
        step = 8 * float(c.get("mutation_scale", 0.1)) * draw.standard_normal((count, size))
        child = child + hit * step
        now = value(child)
        best = known.argsort()[:kept]
        worst = now.argsort()[::-1][:kept]
        child[worst], now[worst] = x[best], known[best]
        x, known = child, now
        yield float(known.min())


def _covariance(c: Config, draw: np.random.Generator, size: int, value: Function) -> Points:
    count = int(c.get("popsize", 12))
    keep = max(1, int(float(c.get("CMA_mu", 0.5)) * count))
    weight = np.log(keep + 0.5) - np.log(np.arange(1, keep + 1))
    weight /= weight.sum()
    strong = 1 / (weight**2).sum()
    rate, learn = float(c.get("c_sigma", 0.3)), float(c.get("c_cov", 0.15))
    mean, sigma = draw.uniform(-4, 4, size), float(c["sigma0"])
    spread, path = np.eye(size), np.zeros(size)
    while True:
        values, axes = np.linalg.eigh(spread + 1e-12 * np.eye(size))
        root = axes * np.sqrt(np.maximum(values, 1e-12))
        z = draw.standard_normal((count, size))
        points = mean + sigma * z @ root.T
        order = value(points).argsort()[:keep]
        steps = (points[order] - mean) / max(sigma, 1e-12)
        mean = mean + sigma * weight @ steps
        path = (1 - rate) * path + np.sqrt(rate * (2 - rate) * strong) * (weight @ z[order])
        sigma *= float(np.exp(np.clip(rate * ((path**2).sum() / size - 1) / 2, -1, 1)))
        sigma = float(np.clip(sigma, 1e-10, 1e4))
        spread = (1 - learn) * spread + learn * np.einsum("p,pi,pj->ij", weight, steps, steps)
        yield 0.0


def annealing(rng: np.random.Generator, longer: int = 1) -> Job:
    """Simulated annealing of a tour through towns; the loss is the length of the present tour."""
    towns = int(rng.integers(15, 60))
    places = rng.random((towns, 2))
    if rng.random() < 0.4:
        places = rng.random((5, 2))[rng.integers(5, size=towns)] + 0.05 * places
    far = np.linalg.norm(places[:, None] - places, axis=2)
    units, moves = longer * int(rng.integers(10, 51)), int(rng.choice([100, 300]))
    of_best = bool(rng.random() < 0.5)

    def length(tour: np.ndarray) -> float:
        return float(far[tour, np.roll(tour, -1)].sum())

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        tour = draw.permutation(towns)
        now = best = length(tour)
        first = heat = float(config["initial_temperature"])
        each, losses = int(config.get("steps_per_temperature", 50)), [now]
        for move in range(1, units * moves + 1):
            other = _moved(tour, draw, str(config.get("move", "reverse")))
            then = length(other)
            if then <= now or draw.random() < np.exp(-(then - now) / max(heat, 1e-9)):
                tour, now = other, then
                best = min(best, now)
            if move % each == 0:
                heat *= float(config["cooling_rate"])
                if draw.random() < float(config.get("reheat", 0.0)):
                    heat = max(heat, 0.3 * first)
            if move % moves == 0:
                losses.append(best if of_best else now)
        return losses

    about = f"{towns} towns; {moves} moves a unit; {'best' if of_best else 'present'} tour"
    return Job("simulated-annealing", "length of the tour", units, about, ANNEALING, train)


def _moved(tour: np.ndarray, draw: np.random.Generator, move: str) -> np.ndarray:
    i, j = sorted(int(n) for n in draw.integers(len(tour), size=2))
    other = tour.copy()
    if move == "swap":
        other[[i, j]] = other[[j, i]]
    elif move == "insert":
        other = np.insert(np.delete(other, i), j, tour[i])
    else:
        other[i : j + 1] = other[i : j + 1][::-1]
    return other


def strategies(rng: np.random.Generator, longer: int = 1) -> Job:
    """Evolution strategies for a small controller; the loss is the negative return of its mean."""
    size, hidden = int(rng.choice([2, 3])), 8
    pull, noise = rng.uniform(0.5, 2.0), float(rng.choice([0.0, 0.05, 0.2]))
    couple = 0.3 * rng.standard_normal((size, size))
    units, steps = longer * int(rng.integers(8, 51)), int(rng.choice([1, 3]))
    numbers = 2 * size * hidden + hidden * size

    def earned(weights: Floats, draw: np.random.Generator) -> Floats:
        """Mean return of each row of weights."""
        count = len(weights)
        inward = weights[:, : 2 * size * hidden].reshape(count, 2 * size, hidden)
        outward = weights[:, 2 * size * hidden :].reshape(count, hidden, size)
        place, speed = draw.uniform(-1, 1, (2, count, size))
        total = np.zeros(count)
        for _ in range(25):
            seen = np.concatenate([place, speed], axis=1)
            inner = np.tanh(np.einsum("ps,psh->ph", seen, inward))
            act = np.clip(np.einsum("ph,phs->ps", inner, outward), -1, 1)
            speed = 0.9 * speed + 0.2 * (act + pull * np.sin(place) + place @ couple)
            speed = speed + noise * draw.standard_normal(speed.shape)
            place = np.clip(place + 0.2 * speed, -5, 5)
            total -= (place**2).mean(axis=1) + 0.01 * (act**2).mean(axis=1)
        return total

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        mean = 0.1 * draw.standard_normal(numbers)
        count, sigma = int(config.get("population_size", 20)), float(config.get("sigma", 0.1))
        rate = float(config["learning_rate"])

        def loss() -> float:
            return -float(earned(np.repeat(mean[None], 16, axis=0), draw).mean())

        losses = [loss()]
        for _ in range(units):
            for _ in range(steps):
                z = draw.standard_normal((count, numbers))
                if config.get("antithetic", True):
                    z = np.concatenate([z, -z])
                got = earned(mean + sigma * z, draw)
                if config.get("rank_fitness", True):
                    got = got.argsort().argsort().astype(float)
                got = (got - got.mean()) / (got.std() + 1e-9)
                mean = mean + rate * (got @ z) / len(z) / max(sigma, 0.05)
                mean = mean * (1 - rate * float(config.get("weight_decay", 0.0)))
                rate *= float(config.get("lr_decay", 1.0))
            losses.append(loss())
        return losses

    about = f"point in {size} dimensions, noise {noise:g}; {steps} steps a unit"
    return Job("evolution-strategies", "negative return", units, about, STRATEGIES, train)
