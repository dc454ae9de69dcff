"""Networks on relations: graphs, facts, orders of documents, times until an event, likeness.

Notation:
    A  arms, m  examples of a step, n  nodes or documents, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked, matrix
from .deep_job import (
    DeepJob,
    adam_rate,
    averaged,
    entropy,
    forward,
    on_device,
    pictures,
    shared,
    stack,
    surprises,
)
from .ranges import Axis

BATCH = Axis("batch_size", (16, 64), (4, 128), log=True, whole=True, also=("bs", "batch"))


def graph(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Classes of the nodes of a graph from few labels, by two convolutions along its edges."""
    nodes, classes = int(rng.integers(80, 160)) * widen, int(rng.integers(2, 6))
    size, hidden = int(rng.choice([8, 24])), 24 * widen
    y = rng.integers(classes, size=nodes)
    often = np.where(y[:, None] == y, rng.uniform(0.05, 0.15), rng.uniform(0.005, 0.04))
    edges = np.triu(rng.random((nodes, nodes)) < often, 1)
    whole = (edges | edges.T | np.eye(nodes, dtype=bool)).astype(float)
    degree = whole.sum(axis=1)
    spread = whole / np.sqrt(degree[:, None] * degree)
    x = rng.standard_normal((classes, size))[y] * rng.uniform(0.2, 0.8)
    x = x + rng.standard_normal(x.shape)
    few = classes * int(rng.choice([3, 8, 15]))
    error = bool(rng.random() < 0.5)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, labels, along = on_device(x, draw), on_device(y, draw), on_device(spread, draw)
        weights = stack(h, draw, same, (size, hidden, classes))

        def answer(w: Weights, using: Draw | None) -> Tensor:
            z = dropped(shared(along @ seen, arms), h["drop"], using)
            first = masked(torch.relu(dense(w, "dense0", z)), h["width"])
            out = dense(w, "dense1", dropped(first, h["drop"], using))
            walked = out
            for _ in range(3):
                walked = (1 - h.wide("gain", 3)) * (along @ walked) + h.wide("gain", 3) * out
            return walked

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(surprises(answer(w, draw)[:, some], labels[some]), h)

        def measure(w: Weights) -> Tensor:
            out = answer(w, None)[:, few:]
            if error:
                return (out.argmax(dim=2) != labels[few:]).float().mean(dim=1)
            return entropy(out, labels[few:])

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("lr", 5e-3, 3e-2, "learning_rate"),
        Axis("weight_decay", (1e-4, 5e-3), (1e-7, 1.0), log=True, also=("l2_coef",)),
        Axis("dropout", (0.2, 0.6), (0.0, 0.95), also=("dropout_p", "feat_drop")),
        Axis("hidden_channels", (8, hidden), (1, hidden), log=True, whole=True, also=("n_hid",)),
        Axis("alpha", (0.05, 0.3), (0.0, 1.0), also=("teleport",)),
        Axis("optimizer", values=("adam", "sgd")),
    )
    keys = {"dropout": "drop", "hidden_channels": "width", "alpha": "gain", "weight_decay": "l2"}
    about = f"{nodes} nodes, {classes} classes, {few} labels"
    metric = "validation error rate" if error else "validation cross-entropy"
    return DeepJob("graph-network", metric, about, axes, keys, {"gain": 0.1}, build)


def facts(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Embeddings of a graph of facts; the mean reciprocal rank of what is asked for goes up."""
    things, kinds, size = 60 * widen, int(rng.integers(2, 6)), 24 * widen
    place = rng.standard_normal((things, 3))
    moves = rng.standard_normal((kinds, 3))
    head = rng.integers(things, size=900 * widen)
    kind = rng.integers(kinds, size=len(head))
    near = ((place[head] + moves[kind])[:, None] - place) ** 2
    tail = (near.sum(axis=2) + rng.uniform(0.1, 1.0) * rng.gumbel(size=near.shape[:2])).argmin(1)
    moved = bool(rng.random() < 0.5)
    held = 150

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        rows = [on_device(part, draw) for part in (head, kind, tail)]
        ones = torch.ones(arms, device=draw.device)
        weights = {
            "thing": matrix(draw, arms, things, size, h["init_scale"] * things**0.5 / 4, same),
            "kind": matrix(draw, arms, kinds, size, ones * kinds**0.5 / 2, same),
        }

        def scores(w: Weights, some: Tensor) -> Tensor:
            """Of all things as tails, [A, m, things]."""
            a = masked(w["thing"][:, rows[0][some]], h["width"])
            r = masked(w["kind"][:, rows[1][some]], h["width"])
            every = masked(w["thing"], h["width"])
            if moved:
                return h.wide("margin", 3) - torch.cdist(a + r, every)
            return (a * r) @ every.transpose(1, 2)

        def loss(w: Weights, some: Tensor) -> Tensor:
            every = scores(w, some + held)
            right = every.gather(2, rows[2][some + held].view(1, -1, 1).expand(arms, -1, 1))
            sharp = (h.wide("temperature", 3) * every.detach()).softmax(dim=2)
            wrong = (sharp * functional.softplus(every)).sum(dim=2)
            weight = (w["thing"] ** 2).mean(dim=(1, 2)) * h["penalty"]
            return averaged(functional.softplus(-right[:, :, 0]) + wrong, h) + weight

        def measure(w: Weights) -> Tensor:
            some = torch.arange(held, device=draw.device)
            every = scores(w, some)
            right = every.gather(2, rows[2][some].view(1, -1, 1).expand(arms, -1, 1))
            rank = (every > right).sum(dim=2) + 1
            lost = torch.where(every.isfinite().all(dim=(1, 2))[:, None], 0.0, torch.nan)
            return (lost - 1.0 / rank).mean(dim=1)

        return Model(weights, loss, measure, len(head) - held)

    axes = (
        adam_rate("learning_rate", 3e-3, 5e-2, "lr"),
        Axis("embedding_dim", (8, size), (1, size), log=True, whole=True, also=("hidden_dim", "k")),
        Axis("margin", (2.0, 8.0), (0.1, 50.0), log=True, also=("gamma",)),
        Axis("regularization", (1e-4, 0.1), (1e-7, 30.0), log=True, also=("l3", "reg_weight")),
        Axis("adversarial_temperature", (0.5, 2.0), (0.02, 20.0), log=True, also=("adv_temp",)),
        Axis("init_scale", (0.3, 1.5), (0.01, 10.0), log=True),
        BATCH,
    )
    keys = {
        "learning_rate": "lr", "embedding_dim": "width", "regularization": "penalty",
        "adversarial_temperature": "temperature", "batch_size": "batch",
    }  # fmt: skip
    about = f"{things} things, {kinds} kinds, {'TransE' if moved else 'DistMult'}"
    fixed = {"temperature": 1.0, "margin": 4.0}
    metric = "negative mean reciprocal rank"
    return DeepJob("knowledge-graph", metric, about, axes, keys, fixed, build)


def ranking(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Orders of documents for queries, from pairs or lists; the discounted gain goes up."""
    queries, docs, size, hidden = 120 * widen, 8, int(rng.choice([6, 15])), 32 * widen
    x = rng.standard_normal((queries, docs, size))
    told = np.tanh(x @ rng.standard_normal((size, 8))) @ rng.standard_normal(8)
    noise = float(rng.choice([0.3, 1.0, 2.0]))
    told = told + noise * rng.standard_normal(told.shape)
    grade = np.digitize(told, np.quantile(told, [0.5, 0.75, 0.9])).astype(float)
    by_list = bool(rng.random() < 0.4)
    inside = int(queries * 0.6)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, wanted = on_device(x, draw), on_device(grade, draw)
        falls = 1 / torch.log2(torch.arange(2, docs + 2, device=draw.device))

        def scores(w: Weights, some: Tensor, using: Draw | None) -> Tensor:
            flat = shared(seen[some].flatten(0, 1), arms)
            return forward(w, h, flat, using, activation=torch.relu).view(arms, len(some), docs)

        def loss(w: Weights, some: Tensor) -> Tensor:
            found, right = scores(w, some, draw), wanted[some]
            if by_list:
                soft = (right / h["temperature"].view(-1, 1, 1)).softmax(dim=2)
                return averaged(-(soft * found.log_softmax(dim=2)).sum(dim=2), h)
            apart = found.unsqueeze(3) - found.unsqueeze(2)
            above = (right.unsqueeze(2) > right.unsqueeze(1)).float()
            pairs = above * functional.softplus(-h.wide("gain", 4) * (apart - h.wide("noise", 4)))
            return averaged(pairs.sum(dim=(2, 3)) / (above.sum(dim=(1, 2)) + 1), h)

        def measure(w: Weights) -> Tensor:
            some = torch.arange(inside, queries, device=draw.device)
            found, right = scores(w, some, None), 2 ** wanted[some] - 1
            order = found.argsort(dim=2, descending=True)
            got = (shared(right, arms).gather(2, order) * falls).sum(dim=2)
            best = (right.sort(dim=1, descending=True)[0] * falls).sum(dim=1) + 1e-6
            lost = torch.where(found.isfinite().all(dim=(1, 2)), 0.0, torch.nan)
            return lost - (got / best).mean(dim=1)

        return Model(stack(h, draw, same, (size, hidden, hidden, 1)), loss, measure, inside)

    axes = (
        adam_rate("learning_rate", 5e-4, 1e-2, "lr"),
        Axis("temperature", (0.5, 2.0), (0.03, 30.0), log=True)
        if by_list
        else Axis("sigma", (0.5, 2.0), (0.02, 50.0), log=True),
        Axis("hidden_layer_dims", (12, hidden), (1, hidden), log=True, whole=True),
        Axis("dropout_rate", (0.0, 0.3), (0.0, 0.9), also=("dropout",)),
        Axis("weight_decay", (1e-5, 1e-3), (1e-7, 3.0), log=True, also=("l2",)),
        Axis("pair_margin", (0.0, 0.5), (0.0, 5.0), also=("margin",)),
        Axis("batch_size", (8, 32), (2, 64), log=True, whole=True, also=("queries_per_batch",)),
    )
    keys = {
        "learning_rate": "lr", "sigma": "gain", "hidden_layer_dims": "width",
        "dropout_rate": "drop", "pair_margin": "noise", "batch_size": "batch",
    }  # fmt: skip
    about = f"{inside} queries of {docs}, noise {noise:g}, by {'lists' if by_list else 'pairs'}"
    fixed = {"temperature": 1.0, "batch": 16}
    return DeepJob("learning-to-rank", "negative nDCG", about, axes, keys, fixed, build)


def survival(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Times until an event, some of them cut off, by Cox's partial likelihood."""
    count, size, hidden = int(rng.choice([150, 400])) * widen, int(rng.integers(4, 20)), 24 * widen
    x = rng.standard_normal((count + 200, size))
    risk = np.tanh(x @ rng.standard_normal((size, 4))) @ rng.standard_normal(4)
    time = rng.exponential(np.exp(-rng.uniform(0.5, 1.5) * risk))
    ends = rng.exponential(np.quantile(time, rng.uniform(0.5, 0.9)) + 0.5, len(time))
    event = (time <= ends).astype(float)
    time = np.minimum(time, ends)
    concordance = bool(rng.random() < 0.6)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, when, came = (on_device(part, draw) for part in (x, time, event))

        def partial(found: Tensor, some: Tensor) -> Tensor:
            """Negative partial log-likelihood of each event, [A, m]."""
            later = when[some].unsqueeze(0) >= when[some].unsqueeze(1)
            at_risk = found.unsqueeze(1).masked_fill(~later, -1e9).logsumexp(dim=2)
            return (at_risk - found) * came[some]

        def scores(w: Weights, some: Tensor, using: Draw | None) -> Tensor:
            return forward(w, h, shared(seen[some], arms), using, activation=torch.selu)[:, :, 0]

        def loss(w: Weights, some: Tensor) -> Tensor:
            found = scores(w, some, draw)
            return averaged(partial(found, some) + h["penalty"].view(-1, 1) * found**2, h)

        def measure(w: Weights) -> Tensor:
            some = torch.arange(count, len(x), device=draw.device)
            found = scores(w, some, None)
            if not concordance:
                return partial(found, some).sum(dim=1) / came[some].sum()
            first = (when[some].unsqueeze(1) < when[some]) & (came[some] > 0).unsqueeze(1)
            apart = found.unsqueeze(2) - found.unsqueeze(1)
            right = (apart > 0).float() + 0.5 * (apart == 0).float()
            lost = torch.where(found.isfinite().all(dim=1), 0.0, torch.nan)
            return lost - (right * first).sum(dim=(1, 2)) / first.sum()

        return Model(stack(h, draw, same, (size, hidden, hidden, 1)), loss, measure, count)

    axes = (
        adam_rate("learning_rate", 1e-3, 2e-2, "lr"),
        Axis("l2_reg", (1e-4, 0.05), (1e-7, 10.0), log=True, also=("weight_decay",)),
        Axis("dropout", (0.0, 0.4), (0.0, 0.9)),
        Axis("num_nodes", (8, hidden), (1, hidden), log=True, whole=True, also=("hidden_size",)),
        Axis("output_penalty", (1e-4, 0.03), (1e-7, 10.0), log=True, also=("ridge",)),
        Axis("momentum", (0.6, 0.95), (0.0, 0.999)),
        Axis("batch_size", (48, 128), (8, 128), log=True, whole=True),
        Axis("optimizer", values=("sgd", "adam")),
    )
    keys = {
        "learning_rate": "lr", "l2_reg": "weight_decay", "dropout": "drop", "num_nodes": "width",
        "output_penalty": "penalty", "batch_size": "batch",
    }  # fmt: skip
    metric = "negative concordance" if concordance else "partial likelihood"
    about = f"{count} people, {size} features, {event.mean():.2f} with an event"
    return DeepJob("survival", metric, about, axes, keys, {"batch": 128}, build)


def likeness(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Embeddings of digits from triplets; the loss is how often the nearest is of another class."""
    x, y = pictures(rng)
    few, size, hidden = int(rng.choice([100, 300, 700])), 16 * widen, 48 * widen
    new = bool(rng.random() < 0.4)
    if new:  # measured on classes that training has not met
        x, y = x[(order := (y >= 7).argsort(kind="stable"))], y[order]
        few = min(few, int((y < 7).sum()))

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, labels = on_device(x, draw), on_device(y, draw)
        held, asked = seen[-200:], labels[-200:]

        def embedded(w: Weights, points: Tensor, using: Draw | None) -> Tensor:
            out = forward(w, h, shared(points, arms), using, activation=torch.relu)
            return functional.normalize(masked(out, h["rank"]) + 1e-6, dim=2)

        def loss(w: Weights, some: Tensor) -> Tensor:
            z = embedded(w, seen[some], draw)
            far = torch.cdist(z, z)
            alike = labels[some].unsqueeze(0) == labels[some].unsqueeze(1)
            hardest = far.masked_fill(~alike, -1).max(dim=2)[0]
            nearest = -torch.logsumexp(
                (-h.wide("gain", 3) * far).masked_fill(alike, -1e9), dim=2
            ) / h["gain"].view(-1, 1)
            return averaged(functional.relu(hardest - nearest + h["margin"].view(-1, 1)), h)

        def measure(w: Weights) -> Tensor:
            z = embedded(w, held, None)
            far = torch.cdist(z, z) + 9 * torch.eye(len(held), device=z.device)
            lost = torch.where(z.isfinite().all(dim=(1, 2)), 0.0, torch.nan)
            return lost + (asked[far.argmin(dim=2)] != asked).float().mean(dim=1)

        return Model(stack(h, draw, same, (64, hidden, size)), loss, measure, few)

    axes = (
        adam_rate("lr", 5e-4, 1e-2, "learning_rate"),
        Axis("margin", (0.1, 0.5), (0.005, 3.0), log=True, always=True, also=("alpha",)),
        Axis("embedding_size", (4, size), (1, size), log=True, whole=True, also=("embed_dim",)),
        Axis("mining_sharpness", (5.0, 30.0), (0.3, 200.0), log=True, also=("beta",)),
        Axis("weight_decay", (1e-5, 1e-3), (1e-7, 1.0), log=True),
        Axis("dropout", (0.0, 0.2), (0.0, 0.9)),
        BATCH,
    )
    keys = {
        "embedding_size": "rank", "mining_sharpness": "gain", "dropout": "drop",
        "batch_size": "batch",
    }  # fmt: skip
    about = f"digits, {few} pictures, {'new' if new else 'the same'} classes asked for"
    fixed = {"batch": 64, "gain": 10.0, "margin": 0.2}
    return DeepJob("metric-learning", "error of the nearest", about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "graph": graph,
    "facts": facts,
    "ranking": ranking,
    "survival": survival,
    "likeness": likeness,
}
