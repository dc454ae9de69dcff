"""Which documented default applies to each hyper-parameter of a space.

Names alone are ambiguous (`learning_rate` is 0.3 in one library and 0.00005 in another), so the
library is inferred from all names together: each library scores by the names that it has, rare
ones more, and the defaults of several libraries are weighed by these scores.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bhpt.domain import FloatArray
from bhpt.spaces.documented_defaults import LIBRARIES
from bhpt.spaces.spelling import spelled

_SHARP = 4.5  # how much more a library counts that has one rare name more

# other words for the same, as people abbreviate them
_SYNONYMS = {
    "lr": "learning_rate",
    "init_lr": "learning_rate",
    "initial_lr": "learning_rate",
    "base_lr": "learning_rate",
    "wd": "weight_decay",
    "bs": "batch_size",
    "mom": "momentum",
    "sgd_momentum": "momentum",
    "b1": "beta1",
    "b2": "beta2",
    "beta_1": "beta1",
    "beta_2": "beta2",
    "adam_beta1": "beta1",
    "adam_beta2": "beta2",
    "eps": "epsilon",
    "adam_epsilon": "epsilon",
    "adam_eps": "epsilon",
    "drop": "dropout",
    "dropout_rate": "dropout",
    "opt": "optimizer",
    "act": "activation",
    "smoothing": "label_smoothing",
    "clip_norm": "max_grad_norm",
    "grad_clip_norm": "max_grad_norm",
    "lambda_": "lambda",
    "l_rate": "learning_rate",
    "lr_g": "g_lr",
    "generator_lr": "g_lr",
    "lr_d": "d_lr",
    "discriminator_lr": "d_lr",
    "hash_bits": "bits",
    "lambda1": "l1",
    "lambda2": "l2",
    "lr_beta": "beta",
    "adv_temp": "adversarial_temperature",
    "attn_dropout": "attention_dropout",
    "ff_dropout": "ffn_dropout",
    "lambda_bc": "bc_weight",
    "lambda_pde": "pde_weight",
    "residual_weight": "pde_weight",
    "target_accept_prob": "target_accept",
    "population_size": "popsize",
    "pop_size": "popsize",
    "swarmsize": "swarm_size",
    "use_ranks": "rank_fitness",
    "mirrored_sampling": "antithetic",
    "size": "vector_size",
    "window_size": "window",
    "subsampling_threshold": "sample",
    "inertia": "w",
    "inertia_weight": "w",
    "cognitive": "c1",
    "social": "c2",
    "participation_rate": "fraction_fit",
    "lora_r": "r",
    "max_samples": "sample_fraction",
    "dropout_p": "dropout",
    "dropout_probability": "dropout",
    "grad_clip": "max_grad_norm",
    "grad_norm_clip": "max_grad_norm",
    "gradient_clip_val": "max_grad_norm",
    "clipnorm": "max_grad_norm",
}


@dataclass(frozen=True, eq=False)
class Documented:
    """What documentation says of one hyper-parameter.

    Attributes:
        numbers: Its defaults in several libraries, [L]; none if it is a word.
        weights: How much each counts; they add up to 1, [L].
        word: Its default if that is a word, else empty.
    """

    numbers: FloatArray
    weights: FloatArray
    word: str = ""


def _plain(name: str) -> str:
    known = spelled(name)
    return _SYNONYMS.get(known, known)


_NUMBERS = [{_plain(k): v for k, v in lib.numbers.items()} for lib in LIBRARIES]
_WORDS = [{_plain(k): v for k, v in lib.words.items()} for lib in LIBRARIES]


def library_weights(names: tuple[str, ...]) -> FloatArray:
    """How much each library counts for a space with these names, adding up to 1, [L].

    A name of n libraries adds 1/n to each of them.
    """
    total = np.zeros(len(LIBRARIES))
    for name in {_plain(name) for name in names}:
        knows = np.array([name in n or name in w for n, w in zip(_NUMBERS, _WORDS, strict=True)])
        if knows.any():
            total += knows / knows.sum()
    weights = np.exp(_SHARP * (total - total.max()))
    return np.asarray(weights / weights.sum())


@lru_cache(maxsize=64)
def documented(names: tuple[str, ...]) -> dict[str, Documented]:
    """The documented default of each name that has one, in the light of all names of the space."""
    weights = library_weights(names)
    found = {}
    for name in names:
        plain = _plain(name)
        inside = [lib for lib in range(len(LIBRARIES)) if plain in _NUMBERS[lib]]
        words = [lib for lib in range(len(LIBRARIES)) if plain in _WORDS[lib]]
        if not inside and not words:
            continue
        mine = weights[inside]
        word = max(words, key=lambda lib: float(weights[lib]), default=None)
        found[name] = Documented(
            np.array([_NUMBERS[lib][plain] for lib in inside], float),
            mine / mine.sum() if len(mine) else mine,
            "" if word is None else _WORDS[word][plain],
        )
    return found
