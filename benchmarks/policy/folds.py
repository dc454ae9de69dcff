"""Kinds that are left out together when networks are trained to be judged on kinds never met.

Kinds that resemble each other are in the same fold: networks that are judged on random forests have
not met boosted trees either. `--leave-out-kind fold:c` leaves all kinds of fold c out; four folds
let each set of networks learn from three quarters of the kinds. Folds a and b are those of the
networks in `wide`, from before there were kinds to make four.
"""

from bhpt.domain import Misuse

TWO = {
    "a": (
        "boosted-trees",
        "reinforcement-learning",
        "small-gpt",
        "grokking",
        "forecasting",
        "keras-cnn",
        "translation",
    ),
    "b": (
        "linear",
        "sklearn-network",
        "factorisation",
        "fine-tuning",
        "contrastive",
        "diffusion",
        "distillation",
        "quadratic",
    ),
}
FOUR = {
    "c": (
        "boosted-trees",
        "random-forest",
        "adaboost",
        "small-gpt",
        "translation",
        "sequence-to-sequence",
        "masked-language-model",
        "diffusion",
        "gan",
        "normalizing-flow",
        "topic-model",
        "mixture-model",
        "markov-chain",
        "catboost",
        "beta-vae",
        "clustering",
        "additive-model",
        "mixture-of-experts",
    ),
    "d": (
        "reinforcement-learning",
        "evolution-strategies",
        "population-search",
        "simulated-annealing",
        "keras-cnn",
        "segmentation",
        "detection",
        "contrastive",
        "metric-learning",
        "quadratic",
        "gaussian-process",
        "deep-q-learning",
        "actor-critic",
        "continuous-control",
        "image-cnn",
        "residual-network",
        "vision-transformer",
        "ppo",
        "scheduled-sgd",
        "scheduled-adamw",
        "image-autoencoder",
        "one-cycle",
        "image-text",
        "super-resolution",
        "offline-rl",
        "semi-supervised",
        "ant-colony",
    ),
    "e": (
        "linear",
        "kernel-machine",
        "federated",
        "private-training",
        "click-prediction",
        "forecasting",
        "lstm",
        "fine-tuning",
        "adapters",
        "physics-informed",
        "coordinate-network",
        "elastic-net",
        "online-linear",
        "support-vector-machine",
        "series-transformer",
        "text-classification",
        "sequence-labelling",
        "speech-ctc",
        "preference-tuning",
        "fasttext",
        "tuned-transformer",
        "lora",
        "series-classification",
        "state-space",
        "neural-ode",
        "gaussian-splatting",
        "n-beats",
    ),
    "f": (
        "factorisation",
        "implicit-recommender",
        "knowledge-graph",
        "word-embeddings",
        "sklearn-network",
        "plain-network",
        "tabular-transformer",
        "grokking",
        "distillation",
        "graph-network",
        "learning-to-rank",
        "survival",
        "tabular-network",
        "neighbour-map",
        "two-towers",
        "next-item",
        "anomaly-detection",
    ),
}
_SIGN = "fold:"


def kinds_listed(text: str) -> tuple[str, ...]:
    """Kinds with commas between them; `fold:c` stands for all kinds of fold c.

    Raises:
        Misuse: There is no such fold.
    """
    found: list[str] = []
    for word in filter(None, text.split(",")):
        name = word.removeprefix(_SIGN)
        if name == word:
            found.append(word)
        elif name in TWO | FOUR:
            found.extend((TWO | FOUR)[name])
        else:
            raise Misuse(f"no fold {name!r}: there are {', '.join(TWO | FOUR)}")
    return tuple(dict.fromkeys(found))
