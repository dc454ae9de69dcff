"""Trainings whose learning rate rises and falls once, with the names of fastai and of PyTorch.

Models and data are those of `scheduled`; what is tuned is the optimiser and its cycle.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .deep_job import DeepJob
from .ranges import Axis
from .scheduled import MODELS


def one_cycle(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """AdamW with one cycle of its learning rate; momentum stays as it is."""
    job = MODELS[int(rng.integers(len(MODELS)))](rng, widen)
    axes = (
        Axis("lr_max", (1e-3, 1e-2), (1e-5, 1.0), log=True, always=True, also=("max_lr", "lr")),
        Axis("pct_start", (0.2, 0.4), (0.01, 0.95)),
        Axis("div", (10.0, 50.0), (1.0, 1000.0), log=True, also=("div_factor",)),
        Axis("div_final", (1e3, 1e5), (1.0, 1e7), log=True, also=("final_div_factor",)),
        Axis("wd", (1e-3, 0.1), (1e-6, 5.0), log=True, also=("weight_decay",)),
        Axis("mom", (0.85, 0.95), (0.0, 0.99), also=("beta1",)),
        Axis("sqr_mom", (0.98, 0.999), (0.5, 0.9999), also=("beta2",)),
        Axis("eps", (1e-8, 1e-5), (1e-10, 0.1), log=True),
        Axis("ps", (0.0, 0.3), (0.0, 0.9), also=("drop_p", "dropout")),
        Axis("bs", values=(8, 16, 32, 64), also=("batch_size",))
        if rng.random() < 0.5
        else Axis("bs", (16, 64), (2, 64), log=True, whole=True, also=("batch_size",)),
        Axis("label_smoothing", (0.0, 0.1), (0.0, 0.6), also=("smoothing",)),
        Axis("max_norm", (0.5, 5.0), (0.01, 50.0), log=True, also=("grad_clip",)),
    )
    keys = {
        "lr_max": "lr", "pct_start": "warmup", "wd": "weight_decay", "mom": "beta1",
        "sqr_mom": "beta2", "ps": "drop", "bs": "batch", "label_smoothing": "smoothing",
        "max_norm": "clip",
    }  # fmt: skip
    fixed = {
        "optimizer": "adamw", "schedule": "one-cycle", "warmup": float(rng.choice([0.25, 0.3])),
        "beta2": 0.99, "eps": 1e-5, "weight_decay": 0.01, "batch": int(rng.choice([16, 32, 64])),
    }  # fmt: skip
    about = f"{job.kind}: {job.about}"
    return replace(
        job, kind="one-cycle", about=about, axes=axes, keys=keys, fixed=job.fixed | fixed
    )


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"one_cycle": one_cycle}
