"""Kinds of tasks: which tables come from the same kind of training.

A method that was trained or chosen on some kinds is judged on the others. A table names its kind
in its NAME.json (`"kind": "boosted-trees"`); tables that were made before this field existed are
listed here by their names.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from bhpt.domain import Misuse

# patterns of task names; the first that fits decides
_BY_NAME = (
    ("lcbench:*", "mlp"),
    ("fcnet_*", "mlp"),
    ("*_vae", "autoencoder"),
    ("vae_*", "autoencoder"),
    ("resnet_*", "cnn"),
    ("arch_*", "cnn"),
    ("arch2_*", "cnn"),
    ("deepobs_quadratic_*", "quadratic"),
    ("deepobs_tolstoi_*", "language-model"),
    ("deepobs_*", "cnn"),
    ("taskset:*", "language-model"),
    ("nasnlp_*", "language-model"),
    ("nmt_*", "translation"),
    ("xgbs_*", "boosted-trees"),
)
# families of networks that `benchmarks/policy/nets` trains
FAMILIES = {
    "mlp": "mlp",
    "cnn": "cnn",
    "vae": "autoencoder",
    "rnn": "rnn",
    "attention": "attention",
}


def kind_of(name: str, about: Mapping[str, object] | None = None) -> str:
    """The kind of a task, empty if it is not known.

    Args:
        name: What a person types.
        about: Its NAME.json, if it has one. Tables of small networks (`net_*`) without a `kind`
            have it from the first word of `how`, their family.

    Raises:
        Misuse: The field `kind` is no word.
    """
    about = about or {}
    kind = about.get("kind", "")
    if not isinstance(kind, str):
        raise Misuse(f"task {name}: `kind` must be a word, not {kind!r}")
    if kind:
        return kind
    if name.startswith("net_"):
        return FAMILIES.get(str(about.get("how", "")).partition(" ")[0], "")
    return next((kind for pattern, kind in _BY_NAME if fnmatchcase(name, pattern)), "")
