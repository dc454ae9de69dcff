"""Networks that read names say the same however they are run."""

import numpy as np

from bhpt.beliefs.learned.name_opinions import scores
from bhpt.beliefs.learned.name_readers import NameReaders, hidden_units
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import FloatArray
from bhpt.spaces import encode_tokens, infer_ranges


def tokens_of(count: int) -> FloatArray:
    rng = np.random.default_rng(1)
    configs: list[dict[str, object]] = [
        {"lr": 10 ** rng.uniform(-5, 0), "depth": int(rng.integers(1, 9)), "norm": "batch"}
        for _ in range(count)
    ]
    for config in configs[::3]:
        del config["depth"]
    return encode_tokens(configs, infer_ranges(configs))


def test_scores_are_those_of_all_networks_in_one_stack() -> None:
    trained, tokens = shipped("names"), tokens_of(150)
    double = {name: np.asarray(array, float) for name, array in trained.items()}
    found = NameReaders(trained).scores(tokens)
    np.testing.assert_allclose(found, scores(np, double, tokens), atol=1e-5)
    assert found.std(axis=1).min() > 0.01


def test_zeros_behind_hidden_units_do_not_count() -> None:
    arrays = {name: np.array(array) for name, array in shipped("names").items()}
    narrow = [0, 2]
    for name in ("reader_token", "reader_again", "reader_context", "reader_hidden"):
        arrays[name][narrow, :, 5:] = 0.0
    for name in ("reader_again", "reader_context", "reader_hidden", "reader_output"):
        arrays[name][narrow, 5:] = 0.0
    for name in ("reader_token_bias", "reader_again_bias", "reader_hidden_bias"):
        arrays[name][narrow, 5:] = 0.0
    widths = hidden_units(arrays)
    assert widths[narrow].tolist() == [5, 5]
    assert widths[1] > 5
    arrays["reader_hidden_bias"][0, 9] = 0.1  # what one array uses is used
    assert hidden_units(arrays)[0] == 10
    tokens = tokens_of(20)
    found = NameReaders(arrays).scores(tokens)
    np.testing.assert_allclose(found, scores(np, arrays, tokens), atol=1e-5)
