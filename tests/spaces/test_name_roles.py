"""What names mean: the same hyper-parameter reads the same in every search space."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import FloatArray
from bhpt.spaces import ROLES, encode_roles


def column(role: str, configs: Sequence[Mapping[str, object]]) -> FloatArray:
    """What is read of one role."""
    return np.asarray(encode_roles(configs)[:, ROLES.index(role)])


def known(configs: Sequence[Mapping[str, object]]) -> set[str]:
    """Roles that something is known of."""
    read = encode_roles(configs)
    return {role for at, role in enumerate(ROLES) if np.isfinite(read[:, at]).any()}


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("lr", "learning rate"),
        ("learning_rate", "learning rate"),
        ("learningRate", "learning rate"),
        ("rate", "learning rate"),
        ("optim.init-lr", "learning rate"),
        ("batch_size", "batch size"),
        ("bs", "batch size"),
        ("weight_decay", "l2"),
        ("wd", "l2"),
        ("num_layers", "layers"),
        ("max_units", "width"),
        ("units2", "width"),
        ("hidden_size", "width"),
        ("latent", "latent"),
        ("adam_beta1", "beta1"),
        ("beta_2", "beta2"),
        ("eps", "epsilon"),
        ("step_size", "period"),
        ("d_model", "width"),
        ("warmup_epochs", "warm-up"),
        ("init_gain", "initial scale"),
        ("max_grad_norm", "clipping"),
        ("input_noise", "noise"),
        ("kl_weight", "divergence"),
        ("beta", "divergence"),
    ],
)
def test_usual_names_have_their_role(name: str, role: str) -> None:
    assert known([{name: 0.5 if "beta" in name and name != "beta" else 3}]) == {role}


@pytest.mark.parametrize(
    "name", ["seed", "patience", "colour", "lr_schedule", "x", "batch_norm", ""]
)
def test_other_names_mean_nothing(name: str) -> None:
    assert known([{name: 0.5}]) == set()


def test_spaces_of_other_ranges_agree_on_a_value() -> None:
    """Encoded features depend on the range of a space; what a value means does not."""
    narrow = column("learning rate", [{"lr": 0.01}, {"lr": 0.02}])
    wide = column("learning rate", [{"learning_rate": 1e-6}, {"learning_rate": 0.01}])
    assert narrow[0] == pytest.approx(wide[1])
    assert wide[0] < wide[1] < narrow[1]


def test_a_decay_is_a_factor_or_a_rate() -> None:
    assert known([{"decay": 0.9}, {"decay": 1.0}]) == {"decay factor"}
    assert known([{"lr_decay": 1e-5}, {"lr_decay": 1e-3}]) == {"decay rate"}
    assert known([{"decay": 1e-5}, {"decay": 1e-3}]) == set()  # of weights, or of the rate?
    assert known([{"exponential_decay": 1e-4, "linear_decay": 1e-6}]) == {
        "decay rate",
        "linear decay",
    }


def test_a_step_is_a_period_or_a_rate() -> None:
    assert known([{"step_size": 5}, {"step_size": 10}]) == {"period"}
    assert known([{"step_size": 0.5}, {"step_size": 0.01}]) == {"learning rate"}


def test_a_beta_below_one_may_be_any() -> None:
    assert known([{"beta": 0.9}, {"beta": 0.99}]) == set()


def test_several_of_one_role_count_by_their_mean() -> None:
    both = column("width", [{"units1": 16, "units2": 64}])
    assert both == pytest.approx(column("width", [{"units": 32}]))


def test_words_have_roles() -> None:
    configs: list[dict[str, object]] = [
        {"optimizer": "AdamW"},
        {"optimizer": "sgd"},
        {"optimizer": "RMSprop"},
        {},
    ]
    np.testing.assert_array_equal(column("adam", configs), [1, -1, -1, np.nan])
    np.testing.assert_array_equal(column("sgd", configs), [-1, 1, -1, np.nan])
    np.testing.assert_array_equal(column("adagrad", configs), [-1, -1, 1, np.nan])
    np.testing.assert_array_equal(
        column("saturates", [{"act1": "tanh"}, {"act1": "relu"}]), [1, -1]
    )


def test_yes_and_no_are_words() -> None:
    configs: list[dict[str, object]] = [{"use_norm": True}, {"use_norm": np.False_}, {}]
    np.testing.assert_array_equal(column("normalised", configs), [1, -1, np.nan])
    kinds: list[dict[str, object]] = [{"norm": "BatchNorm"}, {"norm": "none"}, {"norm": 1.0}]
    np.testing.assert_array_equal(column("normalised", kinds), [1, -1, np.nan])
    assert column("residual", [{"skip": True}]) == [1]
    falls: list[dict[str, object]] = [{"lr_scheduler": "cosine"}, {"lr_scheduler": "constant"}]
    np.testing.assert_array_equal(column("rate falls", falls), [1, -1])


def test_what_is_no_number_is_unknown() -> None:
    """Conditional, missing and odd values leave their own cell unknown, and no other."""
    configs: list[dict[str, object]] = [{"lr": 0.1}, {}, {"lr": None}, {"lr": True}, {"lr": "big"}]
    np.testing.assert_array_equal(
        np.isfinite(column("learning rate", configs)), [True, False, False, False, False]
    )


def test_no_decay_at_all_is_a_small_one() -> None:
    none, some = column("l2", [{"weight_decay": 0.0}, {"weight_decay": 1e-4}])
    assert np.isfinite(none)
    assert none < some


values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-5, 5),
    st.sampled_from(["", "adam", "SGD", "ReLU", "0.1"]),
    st.none(),
)
names = st.sampled_from(["lr", "momentum", "dropout", "decay", "units1", "optimizer", "other"])


@settings(deadline=None)
@given(st.lists(st.dictionaries(names, values), min_size=1, max_size=6))
def test_anything_can_be_read(configs: list[dict[str, object]]) -> None:
    read = encode_roles(configs)
    assert read.shape == (len(configs), len(ROLES))
    assert not np.isinf(read).any()
