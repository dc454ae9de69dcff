"""Trainings by an explicit schedule of the learning rate, as large sweeps of images and texts have.

Models and data are those of other jobs; what is tuned is the optimiser and its schedule, under the
names of frameworks and of public logs of such sweeps. Trainings are long.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .deep_job import DeepJob
from .images import plain_cnn, residual_network, vision_transformer
from .language import masked_words, seq2seq
from .ranges import Axis
from .texts import sequence_labelling, speech, text_classification
from .tuned_text import letters_model

Make = Callable[[np.random.Generator, int], DeepJob]
MODELS: tuple[Make, ...] = (
    plain_cnn,
    residual_network,
    vision_transformer,
    text_classification,
    sequence_labelling,
    speech,
    seq2seq,
    masked_words,
    letters_model,
)
# sensible learning rates by momentum of models that differ by their normalisation
_STEEP = {"image-cnn": (0.01, 0.1), "residual-network": (0.03, 0.5)}
_STYLES = (
    ("opt_hparams.momentum", "lr_hparams.initial_value", "lr_hparams.power",
     "lr_hparams.decay_steps_factor", "lr_hparams.end_factor", "l2_decay_factor"),
    ("momentum", "learning_rate", "power", "decay_steps_factor", "end_factor", "l2"),
    ("opt_momentum", "lr_initial", "lr_power", "lr_decay_factor", "lr_end_factor", "opt_wd"),
    ("momentum", "base_lr", "power", "decay_fraction", "min_lr_ratio", "weight_decay"),
)  # fmt: skip


def _model(rng: np.random.Generator, widen: int) -> DeepJob:
    return MODELS[int(rng.integers(len(MODELS)))](rng, widen)


def scheduled_sgd(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Nesterov's momentum and a learning rate that falls by a power over a part of the training.

    Some tables tune the momentum, drawn by how little it is below 1, others one minus it.
    """
    job = _model(rng, widen)
    low, high = _STEEP.get(job.kind, (0.02, 0.5))
    momentum, rate, power, part, end, decay = _STYLES[int(rng.integers(len(_STYLES)))]
    mirrored = bool(rng.random() < 0.6)
    if not mirrored:
        momentum = "one_minus_momentum"
    few = rng.random() < 0.5
    near = Axis(momentum, (0.03, 0.2), (1e-3, 1.0), log=True, always=True, mirrored=mirrored)
    axes = (
        Axis(rate, (low, high), (low / 500, high * 30), log=True, always=True),
        near,
        Axis(power, (0.8, 2.0), (0.1, 4.0), always=bool(rng.random() < 0.8)),
        Axis(part, (0.7, 1.0), (0.01, 1.0), always=bool(rng.random() < 0.8)),
        Axis(end, (1e-3, 0.02), (1e-5, 0.9), log=True),
    )
    if not few:
        axes += (
            Axis(decay, (1e-5, 1e-3), (1e-7, 0.1), log=True),
            Axis("batch_size", (16, 64), (2, 64), log=True, whole=True),
            Axis("warmup_factor", (0.01, 0.1), (0.001, 0.5), log=True, also=("warmup_fraction",)),
            Axis("label_smoothing", (0.0, 0.15), (0.0, 0.6)),
            Axis("grad_clip", (0.5, 5.0), (0.01, 50.0), log=True),
        )
    keys = {
        rate: "lr", "momentum": "momentum", momentum: "momentum" if mirrored else momentum,
        power: "power", part: "decays", end: "final", decay: "l2", "batch_size": "batch",
        "warmup_factor": "warmup", "label_smoothing": "smoothing", "grad_clip": "clip",
    }  # fmt: skip
    fixed = {"optimizer": "sgd", "nesterov": 1.0, "schedule": "polynomial", "final": 0.001}
    fixed |= {"batch": int(rng.choice([16, 32, 64]))}
    about = f"{job.kind}: {job.about}"
    return replace(
        job, kind="scheduled-sgd", about=about, axes=axes, keys=keys, fixed=job.fixed | fixed
    )


def scheduled_adamw(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """AdamW that warms up, then falls along a cosine to a part of its rate."""
    job = _model(rng, widen)
    mirrored = bool(rng.random() < 0.5)
    first, second = ("beta1", "beta2") if mirrored else ("one_minus_beta1", "one_minus_beta2")
    fixed = {"optimizer": "adamw", "schedule": "annealed", "final": 0.0, "warmup": 0.05}
    fixed |= {"batch": int(rng.choice([16, 32, 64])), "beta2": float(rng.choice([0.95, 0.999]))}
    axes = (
        Axis("base_lr", (5e-4, 5e-3), (5e-6, 0.5), log=True, always=True,
             also=("learning_rate", "peak_lr", "max_lr", "lr_hparams.base_lr")),
        Axis("warmup_factor", (0.02, 0.15), (0.001, 0.7), log=True,
             always=bool(rng.random() < 0.7),
             also=("warmup_ratio", "warmup_fraction", "pct_start")),
        Axis("weight_decay", (1e-3, 0.1), (1e-6, 5.0), log=True,
             also=("opt_hparams.weight_decay", "adamw_weight_decay", "wd")),
        Axis(first, (0.05, 0.15), (0.005, 1.0), log=True, mirrored=mirrored,
             also=("opt_hparams.beta1", "adam_beta1") if mirrored else ("one_minus_b1",)),
        Axis(second, (1e-3, 0.05), (1e-4, 0.6), log=True, mirrored=mirrored,
             also=("opt_hparams.beta2", "adam_beta2") if mirrored else ("one_minus_b2",)),
        Axis("end_lr_factor", (1e-3, 0.1), (1e-5, 1.0), log=True,
             also=("min_lr_ratio", "alpha", "final_lr_ratio")),
        Axis("label_smoothing", (0.0, 0.15), (0.0, 0.6), also=("label_smoothing_factor",)),
        Axis("dropout_rate", (0.0, 0.15), (0.0, 0.8), also=("dropout",)),
        Axis("grad_clip", (0.5, 5.0), (0.01, 50.0), log=True,
             also=("gradient_clip_norm", "clip_norm")),
        Axis("epsilon", (1e-8, 1e-6), (1e-10, 0.1), log=True, also=("opt_hparams.epsilon",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("global_batch_size",)),
    )  # fmt: skip
    keys = {
        "base_lr": "lr", "warmup_factor": "warmup", "end_lr_factor": "final",
        "label_smoothing": "smoothing", "dropout_rate": "drop", "grad_clip": "clip",
        "epsilon": "eps", "batch_size": "batch",
    }  # fmt: skip
    about = f"{job.kind}: {job.about}"
    return replace(
        job, kind="scheduled-adamw", about=about, axes=axes, keys=keys, fixed=job.fixed | fixed
    )


KINDS: dict[str, Make] = {"scheduled_sgd": scheduled_sgd, "scheduled_adamw": scheduled_adamw}
