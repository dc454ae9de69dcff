"""Command line: `python -m benchmarks.policy.jobs` trains tables of jobs of many kinds."""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from . import (
    additive,
    classical,
    colonies,
    ensembles,
    factors,
    fast_text,
    gradients,
    linear,
    optimisers,
    plain_nets,
    recommenders,
    reinforcement,
    trees,
    unsupervised,
)
from .job import Job, write_table
from .ranges import draw_configs, draw_names, draw_ranges, renamed

KINDS: dict[str, Callable[[np.random.Generator, int], Job]] = {
    "lightgbm": trees.lightgbm,
    "xgboost": trees.xgboost,
    "hist_boosting": trees.histogram,
    "linear_sgd": linear.sgd,
    "sklearn_mlp": linear.mlp,
    "factorisation": factors.factorisation,
    "rl_tabular": reinforcement.q_learning,
    "rl_ppo": reinforcement.ppo,
    "forest": ensembles.forest,
    "adaboost": ensembles.adaboost,
    "topics": unsupervised.topics,
    "mixture": unsupervised.mixture,
    "embedding": unsupervised.embedding,
    "implicit": recommenders.implicit,
    "clicks": recommenders.clicks,
    "kernel_machine": gradients.kernel_machine,
    "federated": gradients.federated,
    "private": gradients.private,
    "chain": gradients.chain,
    "population": optimisers.population,
    "annealing": optimisers.annealing,
    "strategies": optimisers.strategies,
    "catboost": trees.catboost,
    "elastic_net": classical.elastic_net,
    "online_linear": classical.online_linear,
    "support_vectors": classical.support_vectors,
    "clusters": classical.clusters,
    "neighbour_map": classical.neighbour_map,
    "xgboost_sklearn": trees.xgboost_sklearn,
    "gradient_boosting": trees.gradient_boosting,
    "fast_text": fast_text.fast_text,
    "additive_model": additive.additive_model,
    "ant_colony": colonies.ant_colony,
    "plain_network": plain_nets.plain_network,
}


def parser() -> argparse.ArgumentParser:
    """The options."""
    root = argparse.ArgumentParser(prog="python -m benchmarks.policy.jobs", description=__doc__)
    root.add_argument("--kinds", default=",".join(KINDS), help="which, with commas")
    root.add_argument("--out", type=Path, required=True, help="folder of the tables")
    root.add_argument("--tables", type=int, default=20, help="how many of each kind")
    root.add_argument("--first", type=int, default=0, help="number of the first")
    root.add_argument("--arms", type=int, default=64, help="configurations of a table")
    root.add_argument("--longer", type=int, default=1, help="multiplies the units of a training")
    root.add_argument("--seconds", type=float, default=float("inf"), help="no new table after")
    root.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    root.add_argument("--seed", type=int, default=0, help="of everything random")
    return root


def made(
    kind: str, number: int, arms: int, seed: int, out: Path, until: float, longer: int = 1
) -> str:
    """Train and write one table; it depends on kind, number, arms, seed and `longer` only.

    A table that is in the folder is left as it is, so an interrupted command can be repeated.

    Returns:
        A line that says what it is; empty if it was there before or time is up.
    """
    name = f"{kind}_{number:03d}"
    if time.time() > until or (out / f"{name}.json").exists():
        return ""
    began = time.monotonic()
    place = list(KINDS).index(kind)
    rng = np.random.default_rng((seed, place, number))
    job = KINDS[kind](rng, longer)
    configs = draw_configs(rng, draw_ranges(rng, job.axes), arms)
    same = bool(rng.random() < 0.5)  # whether all arms start from the same seed
    with np.errstate(over="ignore"):  # a loss beyond what 32 bits hold is infinite
        loss = np.array(
            [job.train(config, 0 if same else arm) for arm, config in enumerate(configs)],
            np.float32,
        )
    how = f"{job.about}; seed {seed}, table {number}. Column 0 is untrained; NaN: diverged."
    words = {"metric": job.metric, "kind": job.kind, "how": how}
    line = write_table(out, name, words, renamed(configs, draw_names(rng, job.axes)), loss)
    return f"{line}, {time.monotonic() - began:.1f} s"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train tables until all are there or time is up."""
    options = parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    until = time.time() + options.seconds
    kinds = options.kinds.split(",")
    wanted = [(kind, options.first + number) for number in range(options.tables) for kind in kinds]
    shared = (options.arms, options.seed, options.out, until, options.longer)
    with ProcessPoolExecutor(options.processes) as pool:
        running = [pool.submit(made, kind, number, *shared) for kind, number in wanted]
        for one in as_completed(running):
            if one.result():
                print(one.result(), flush=True)


if __name__ == "__main__":
    main()
