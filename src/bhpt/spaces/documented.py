"""Which documented default applies to each hyper-parameter of a space.

Names alone are ambiguous (`learning_rate` is 0.3 in one library and 0.00005 in another), so the
library is inferred from all names together: each library scores by the names that it has, rare
ones more, and the defaults of several libraries are weighed by these scores.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bhpt.domain import FloatArray
from bhpt.spaces.documented_defaults import LIBRARIES, Library
from bhpt.spaces.spelling import spelled

_SHARP = 4.5  # how much more a library counts that has one rare name more

# other words for the same, as people abbreviate them, whatever the library
_SYNONYMS = {
    "lr": "learning_rate",
    "init_lr": "learning_rate",
    "initial_lr": "learning_rate",
    "base_lr": "learning_rate",
    "lr_base": "learning_rate",
    "max_lr": "learning_rate",
    "blr": "learning_rate",
    "learn_rate": "learning_rate",
    "wd": "weight_decay",
    "adam_weight_decay": "weight_decay",
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
    "lr_g": "g_lr",
    "generator_lr": "g_lr",
    "lr_d": "d_lr",
    "discriminator_lr": "d_lr",
    "bits": "bit_precision",
    "hash_bits": "bit_precision",
    "lambda1": "l1",
    "lambda2": "l2",
    "l1_regularization_strength": "l1",
    "l2_regularization_strength": "l2",
    "lr_beta": "beta",
    "adv_temp": "adversarial_temperature",
    "attn_dropout": "attention_dropout",
    "ff_dropout": "ffn_dropout",
    "lambda_bc": "bc_weight",
    "lambda_pde": "pde_weight",
    "residual_weight": "pde_weight",
    "target_accept_prob": "target_accept",
    "max_treedepth": "max_tree_depth",
    "population_size": "popsize",
    "pop_size": "popsize",
    "swarm_size": "swarmsize",
    "phi_p": "phip",
    "phi_g": "phig",
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
    "server_lr": "server_learning_rate",
    "client_lr": "eta_l",
    "lora_r": "r",
    "max_samples": "sample_fraction",
    "dropout_p": "dropout",
    "dropout_probability": "dropout",
    "grad_clip": "max_grad_norm",
    "grad_norm_clip": "max_grad_norm",
    "gradient_clip_val": "max_grad_norm",
    "clipnorm": "max_grad_norm",
    "gradient_clipping": "max_grad_norm",
    "lambda_": "lambda",
    "l_rate": "learning_rate",
}
# what people call hyper-parameters of one library, and its own name for them
_CALLED = {
    "scikit-learn AdaBoost": {"base_depth": "max_depth"},
    "scikit-learn LatentDirichletAllocation": {
        "kappa": "learning_decay", "tau0": "learning_offset",
    },
    "gensim LdaModel": {"kappa": "decay", "tau0": "offset"},
    "estool": {"sigma": "sigma_init", "lr_decay": "learning_rate_decay"},
    "diffusers": {"ema_decay": "ema_max_decay"},
    "TensorFlow Privacy": {"clip": "l2_norm_clip", "lot_size": "batch_size"},
    "Opacus": {"noise_multiplier": "sigma", "clip": "max_per_sample_grad_norm"},
    "Vowpal Wabbit": {"b": "bit_precision"},
    "datatable Ftrl": {"lr": "alpha"},
    "PyKEEN": {"num_negatives": "num_negs_per_pos"},
    "PyTorch Geometric": {"teleport": "alpha"},
    "DCGAN": {"g_lr": "lr", "d_lr": "lr"},
    "ProGAN": {
        "g_lr": "g_learning_rate_max", "d_lr": "d_learning_rate_max", "drift": "iwass_epsilon",
        "g_ema": "g_smoothing",
    },
    "SIREN": {"first_omega": "first_omega_0"},
    "DeepXDE": {
        "bc_weight": "loss_weights", "pde_weight": "loss_weights", "neurons": "layer_size",
    },
    "RepDistiller": {"temperature": "kd_t"},
    "MoCo": {"temperature": "moco_t"},
}  # fmt: skip


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


def _numbers(library: Library) -> dict[str, float]:
    """Defaults by all names, its own and those that people have for them."""
    own = {_plain(name): value for name, value in library.numbers.items()}
    called = _CALLED.get(library.name, {})
    return {_plain(name): own[_plain(meant)] for name, meant in called.items()} | own


_NUMBERS = [_numbers(library) for library in LIBRARIES]
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
