"""Documented defaults: which library a space belongs to, and how far values are from them."""

import math
import re

import numpy as np
import pytest

from bhpt.spaces import encode_tokens
from bhpt.spaces.documented import _CALLED, documented, library_weights
from bhpt.spaces.documented_defaults import LIBRARIES
from bhpt.spaces.ranges import Choices, NumberRange, Range
from bhpt.spaces.spelling import spelled
from bhpt.spaces.tokens import column

NAMES = [library.name for library in LIBRARIES]


@pytest.mark.parametrize(
    ("names", "library"),
    [
        (("eta", "max_depth", "min_child_weight", "gamma", "subsample"), "XGBoost"),
        (("learning_rate", "num_leaves", "min_data_in_leaf", "lambda_l1"), "LightGBM"),
        (("learning_rate", "depth", "l2_leaf_reg", "random_strength"), "CatBoost"),
        (
            ("learning_rate", "max_leaf_nodes", "l2_regularization"),
            "scikit-learn HistGradientBoosting",
        ),
        (("alpha", "eta0", "power_t", "l1_ratio"), "scikit-learn SGD"),
        (("learning_rate_init", "hidden_layer_sizes", "alpha"), "scikit-learn MLP"),
        (("learning_rate", "warmup_ratio", "per_device_train_batch_size"), "Hugging Face"),
        (("learning_rate", "clip_range", "gae_lambda", "n_epochs"), "Stable-Baselines3 PPO"),
        (("learning_rate", "n_embd", "warmup_iters", "grad_clip"), "nanoGPT"),
        (("n_factors", "lr_all", "reg_all"), "Surprise SVD"),
        (("alpha", "min_alpha", "window", "negative", "sample"), "gensim Word2Vec"),
        (("lr0", "lrf", "momentum", "box", "cls", "hsv_v"), "Ultralytics YOLO"),
        (("client_lr", "server_momentum", "participation_rate"), "Flower"),
        (("learning_rate", "power_t", "hash_bits"), "Vowpal Wabbit"),
        (("d_token", "attn_dropout", "ff_dropout", "lr"), "FT-Transformer"),
        (("generator_lr", "discriminator_lr", "beta1", "ngf"), "DCGAN"),
        (("model__eta", "model__maxDepth", "model__min_child_weight"), "XGBoost"),
    ],
)  # fmt: skip
def test_the_library_follows_from_all_names(names: tuple[str, ...], library: str) -> None:
    found = library_weights(names)
    assert found.sum() == pytest.approx(1.0)
    assert NAMES[int(found.argmax())].startswith(library)
    # classes that share their names share the weight
    assert found[[name.startswith(library) for name in NAMES]].sum() > 0.5


def test_the_same_name_has_another_default_beside_other_names() -> None:
    boosting = documented(("learning_rate", "max_depth", "min_child_weight", "colsample_bytree"))
    tuning = documented(("learning_rate", "warmup_ratio", "adam_epsilon", "label_smoothing_factor"))

    def mean(found: dict[str, object]) -> float:
        one = found["learning_rate"]
        return float(np.log10(one.numbers) @ one.weights)  # type: ignore[attr-defined]

    assert mean(boosting) > -1.2  # type: ignore[arg-type]
    assert mean(tuning) < -3.5  # type: ignore[arg-type]


def test_many_libraries_do_not_blur_a_space_that_is_clearly_of_one() -> None:
    names = ("learning_rate", "max_depth", "min_child_weight", "colsample_bytree", "reg_lambda")
    found = documented(names)
    boosting = [lib.name in ("XGBoost", "LightGBM") for lib in LIBRARIES]
    assert library_weights(tuple(found))[boosting].sum() > 0.8


def test_distances_are_in_units_of_the_users_range() -> None:
    ranges = {"n_factors": NumberRange(50, 150), "lr_all": NumberRange(5e-4, 5e-2, "log")}
    configs = [{"n_factors": 100, "lr_all": 0.005}, {"n_factors": 150, "lr_all": 0.0005}]
    found = encode_tokens(configs, ranges)
    apart = found[:, :, column("from_default")]
    np.testing.assert_allclose(apart, np.array([[0.0, 0.0], [0.5, -0.5]]), atol=1e-9)
    np.testing.assert_allclose(found[:, :, column("from_default_squared")], apart**2, atol=1e-9)


def test_words_have_defaults_and_unknown_names_none() -> None:
    ranges: dict[str, Range] = {
        "penalty": Choices(("l1", "l2")),
        "eta0": NumberRange(0.001, 1, "log"),
        "colour": Choices(("red", "blue")),
    }
    found = encode_tokens(
        [{"penalty": "l2", "eta0": 0.1, "colour": "red"}, {"penalty": "l1", "colour": "blue"}],
        ranges,
    )
    assert found[0, 0, column("from_default_squared")] == 0
    assert found[1, 0, column("from_default_squared")] == 0.25
    assert found[0, 0, column("has_default")] == 1
    assert not found[:, 2, column("has_default")].any()


@pytest.mark.parametrize(
    ("names", "people_say", "default"),
    [
        (("learning_rate", "base_depth"), "base_depth", 1.0),
        (("client_lr", "server_momentum", "fraction_fit"), "client_lr", 0.1),
        (("clip", "noise_multiplier", "l2_norm_clip"), "clip", 1.0),
        (("teleport", "hidden_channels", "heads"), "teleport", 0.1),
        (("generator_lr", "discriminator_lr", "ngf", "nz"), "generator_lr", 2e-4),
        (("drift", "g_ema", "iwass_lambda"), "drift", 1e-3),
        (("temperature", "kd_t", "lr_decay_rate"), "temperature", 4.0),
        (("kappa", "tau0", "passes", "chunksize"), "tau0", 1.0),
    ],
)  # fmt: skip
def test_what_people_call_a_hyper_parameter_has_its_default(
    names: tuple[str, ...], people_say: str, default: float
) -> None:
    found = documented(names)[people_say]
    assert found.numbers[found.weights.argmax()] == default
    own = {name for library in LIBRARIES for name in library.numbers}
    assert people_say not in own or people_say == "temperature"


def test_facts_are_well_formed() -> None:
    assert len({*NAMES}) == len(NAMES) > 60
    for library in LIBRARIES:
        # a page or a file, not a site alone
        assert re.fullmatch(r"[a-z0-9.-]+\.[a-z]+\S*, \S.*", library.source), library
        assert library.numbers
        assert all(math.isfinite(value) for value in library.numbers.values())
        assert not library.numbers.keys() & library.words.keys()
        assert all(word == spelled(word) for word in library.words.values())
        names = [spelled(name) for name in (*library.numbers, *library.words)]
        assert len({*names}) == len(names)
        assert all(name == spelled(name) for name in names)


def test_other_names_lead_to_facts() -> None:
    by_name = {library.name: library for library in LIBRARIES}
    for name, called in _CALLED.items():
        for people_say, own in called.items():
            assert own in by_name[name].numbers, own
            assert people_say not in by_name[name].numbers
