"""Recommenders by networks: a tower for users and one for items, and the next item of a history.

Notation:
    A  arms, m  examples of a step, U  users, I  items, L  places of a history, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, masked, matrix
from .deep_job import DeepJob, adam_rate, averaged, forward, on_device, stack, surprises
from .encoders import encoded, later
from .ranges import Axis
from .texts import reading

HELD, NEAR = 300, 10


def missed(scores: Tensor, right: Tensor) -> Tensor:
    """Negative share of examples whose item is among the first ten, NaN if lost, [A].

    `scores` [A, m, I], `right` [m].
    """
    own = scores.gather(2, right.view(1, -1, 1).expand(len(scores), -1, 1))
    hit = ((scores >= own).sum(dim=2) <= NEAR).float().mean(dim=1)  # a tie counts against it
    return torch.where(scores.isfinite().all(dim=2).all(dim=1), 0.0, torch.nan) - hit


def _taken(
    rng: np.random.Generator, few: int, users: int, items: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Who took which item, [n] each, and what is known of users and of items."""
    rank = int(rng.integers(2, 6))
    likes, made = rng.standard_normal((users, rank)), rng.standard_normal((items, rank))
    often = rng.uniform(0.2, 1.2) * rng.standard_normal(items)
    wants = 1.5 * likes @ made.T / np.sqrt(rank) + often
    who = rng.integers(users, size=few + HELD)
    what = (wants[who] + rng.gumbel(size=(len(who), items))).argmax(axis=1)
    known = [
        np.tanh(one @ rng.standard_normal((rank, 6))) + 0.3 * rng.standard_normal((len(one), 6))
        for one in (likes, made)
    ]
    return who, what, known[0], known[1]


def two_towers(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Users and items meet in one space; the other items of a batch are the wrong ones."""
    few, users, items = (int(rng.choice(c)) for c in ([1000, 5000], [100, 400], [60, 200]))
    who, what, of_users, of_items = _taken(rng, few, users, items)
    most, hidden = 8 * widen, 24 * widen
    by_rank = bool(rng.random() < 0.6)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        a, b = on_device(who, draw), on_device(what, draw)
        known = {"user": on_device(of_users, draw), "item": on_device(of_items, draw)}
        weights: Weights = {}
        for name, count in (("user", users), ("item", items)):
            scale = 0.3 * count**0.5 * h["init_scale"]
            weights[f"embed_{name}"] = matrix(draw, arms, count, most, scale, same)
            weights |= stack(h, draw, same, (most + 6, hidden, most), name)

        def tower(w: Weights, name: str, some: Tensor, using: Draw | None) -> Tensor:
            own = masked(w[f"embed_{name}"][:, some], h["width"])
            side = known[name][some].expand(arms, -1, -1)
            wide = Hypers(h.values | {"width": h["layers"]})
            out = forward(w, wide, torch.cat([own, side], dim=2), using, name, torch.relu)
            return functional.normalize(masked(out, h["width"]), dim=2)

        def loss(w: Weights, some: Tensor) -> Tensor:
            left, right = tower(w, "user", a[some], draw), tower(w, "item", b[some], draw)
            near = left @ right.transpose(1, 2) / h.wide("temperature", 3)
            outside = torch.arange(len(some), device=near.device) >= h["batch"].view(-1, 1)
            near = near.masked_fill(outside.unsqueeze(1), -1e9)
            return averaged(surprises(near, torch.arange(len(some), device=near.device)), h)

        def measure(w: Weights) -> Tensor:
            every = torch.arange(items, device=draw.device)
            scores = tower(w, "user", a[few:], None) @ tower(w, "item", every, None).transpose(1, 2)
            if by_rank:
                return missed(scores, b[few:])
            return surprises(scores / 0.1, b[few:]).mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("learning_rate", 1e-3, 1e-2, "lr"),
        Axis("temperature", (0.05, 0.3), (0.005, 5.0), log=True, also=("softmax_temperature",)),
        Axis("embedding_dim", (max(most // 4, 4), most), (1, most), log=True, whole=True,
             also=("embedding_dimension", "embed_dim")),
        Axis("layer_size", (max(hidden // 4, 8), hidden), (2, hidden), log=True, whole=True,
             also=("hidden_units", "tower_layer_size")),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8), also=("dropout_rate",)),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True, also=("l2_reg",)),
        Axis("batch_size", (32, 128), (4, 128), log=True, whole=True),
        Axis("optimizer", values=("adam", "sgd")),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "embedding_dim": "width", "layer_size": "layers", "dropout": "drop",
        "batch_size": "batch",
    }  # fmt: skip
    about = f"{few} clicks of {users} users, {items} items"
    metric = "negative recall at 10" if by_rank else "validation cross-entropy"
    return DeepJob(
        "two-towers", metric, about, axes, keys, {"batch": 64, "temperature": 0.1}, build
    )


def next_item(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """What a user takes next, by attention to what he took before (SASRec)."""
    few, items, length = int(rng.choice([200, 800, 3000])), int(rng.choice([40, 120])), 10
    width, layers = 12 * widen, int(rng.integers(1, 3))
    group = rng.integers(8, size=items)
    goes = rng.dirichlet(np.full(8, 0.3), size=8)
    often = rng.dirichlet(np.full(items, 0.5))
    likely = goes[group][:, group] * often
    likely = (likely / likely.sum(axis=1, keepdims=True)).cumsum(axis=1)
    x = rng.choice(items, size=(few + HELD, length + 1), p=often)
    for at in range(1, length + 1):
        back = np.where(rng.random(len(x)) < 0.3, max(at - 3, 0), at - 1)
        row = likely[x[np.arange(len(x)), back]]
        x[:, at] = np.minimum((row < rng.random((len(x), 1))).sum(axis=1), items - 1)
    by_rank = bool(rng.random() < 0.6)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms, seen = len(h["lr"]), on_device(x, draw)
        weights = reading(h, draw, same, items, length, width, layers)
        weights |= stack(h, draw, same, (width, items), "out")
        hidden = later(length, draw.device)

        def states(w: Weights, tokens: Tensor, using: Draw | None) -> Tensor:
            z = w["word"][:, tokens.flatten()].view(arms, len(tokens), length, width)
            if using is not None:
                drop = torch.rand(1, len(tokens), length, 1, generator=using, device=z.device)
                z = z * (drop >= h.wide("penalty", 4))
            return encoded(w, h, z + w["place"].unsqueeze(1), layers, using, hidden)

        def loss(w: Weights, some: Tensor) -> Tensor:
            tokens = seen[some]
            z = states(w, tokens[:, :-1], draw).view(arms, -1, width)
            told = surprises(dense(w, "out0", z), tokens[:, 1:].flatten())
            return averaged(told.view(arms, len(some), length).mean(dim=2), h)

        def measure(w: Weights) -> Tensor:
            tokens = seen[few:]
            scores = dense(w, "out0", states(w, tokens[:, :-1], None)[:, :, -1])
            if by_rank:
                return missed(scores, tokens[:, -1])
            return surprises(scores, tokens[:, -1]).mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("lr", 5e-4, 5e-3, "learning_rate"),
        Axis("hidden_units", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("hidden_size", "embedding_size", "d_model")),
        Axis("num_blocks", (1, layers), (1, 2), whole=True, also=("n_layers", "num_layers")),
        Axis("dropout_rate", (0.1, 0.4), (0.0, 0.9), also=("hidden_dropout_prob", "dropout")),
        Axis("attn_dropout_prob", (0.0, 0.3), (0.0, 0.9), also=("attention_dropout",)),
        Axis("item_dropout", (0.0, 0.2), (0.0, 0.8), also=("mask_ratio", "emb_dropout")),
        Axis("l2_emb", (1e-6, 1e-3), (1e-8, 0.1), log=True, also=("weight_decay", "reg_weight")),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("train_batch_size",)),
        Axis("adam_beta2", (0.98, 0.999), (0.5, 0.9999), also=("beta2",)),
    )  # fmt: skip
    keys = {
        "hidden_units": "width", "num_blocks": "layers", "dropout_rate": "drop",
        "attn_dropout_prob": "noise", "item_dropout": "penalty", "l2_emb": "l2",
        "batch_size": "batch", "adam_beta2": "beta2",
    }  # fmt: skip
    about = f"{few} histories of {length} of {items} items; {layers} layers"
    metric = "negative hit rate at 10" if by_rank else "validation cross-entropy"
    return DeepJob("next-item", metric, about, axes, keys, {"batch": 32}, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "two_towers": two_towers,
    "next_item": next_item,
}
