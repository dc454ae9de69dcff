"""Five families of networks, each written for one arm and one step; programs map them over arms.

All arms of a family have weights of the same shapes. Narrower layers are masked, missing layers
skipped, so that one program trains every configuration.

Notation:
    m  examples of a step, F  features, H  units (padded), O  outputs (padded), A  arms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .arms import ACTIVATIONS, BLOCKS, LAYERS, Arm
from .data import COLOUR, GREY, OUTPUTS, SIDE

Array = Any  # of NumPy on the host, of JAX in programs
Weights = dict[str, Any]

LATENT = 16
HEADS = 2  # of attention
_FAR = -1e9


class Task(NamedTuple):
    """What outputs are: which of them exist, [O], and 1 if they are values."""

    exists: Array
    values: Array


class Noise(NamedTuple):
    """What is random in a step, the same for all arms.

    Attributes:
        drop: Uniform, [LAYERS, m, H].
        inputs: Normal, [m, F].
        latent: Normal, [m, LATENT].
    """

    drop: Array
    inputs: Array
    latent: Array


@dataclass(frozen=True)
class Family:
    """One kind of network.

    Attributes:
        features: Inputs, F.
        hidden: Units of a layer at most, H.
        shapes: Shape of each weight matrix, fan-in first; biases are added to them.
        after: Number of the hidden layer that feeds a matrix, -1 for the last; else all rows count.
        loss: Mean loss of weights, arm, inputs, targets, task and noise that training lowers.
        measure: Loss and error rate of the same that tables hold, both means.
    """

    features: int
    hidden: int
    shapes: dict[str, tuple[int, int]]
    after: dict[str, int]
    loss: Callable[[Weights, Arm, Array, Array, Task, Noise], Array]
    measure: Callable[[Weights, Arm, Array, Array, Task, Noise], tuple[Array, Array]]


def draw_noise(family: Family, key: Array, examples: int) -> Noise:
    """All noise of one step; programs leave out what a family has no use for."""
    keys = jax.random.split(key, 3)
    return Noise(
        jax.random.uniform(keys[0], (LAYERS, examples, family.hidden)),
        jax.random.normal(keys[1], (examples, family.features)),
        jax.random.normal(keys[2], (examples, LATENT)),
    )


def start(rng: np.random.Generator, family: Family, arms: Arm, same: bool) -> Weights:
    """Weights before training, [A, ...] each: normal, as wide as the layer before asks for.

    Args:
        rng: Of the weights.
        family: Whose weights.
        arms: All arms.
        same: Whether all arms start from the same numbers (times their scales).
    """
    count = len(arms.lr)
    gain = np.where(np.isin(arms.activation, (0, 3, 4, 5)), 2.0, 1.0)  # all that are like relu
    weights = {}
    for name, (rows, columns) in family.shapes.items():
        fan = _fan_in(name, rows, family, arms)
        deviation = arms.init_scale * np.sqrt((1.0 if name == "out" else gain) / fan)
        normal = rng.standard_normal((1 if same else count, rows, columns), np.float32)
        weights[name] = (normal * deviation[:, None, None]).astype(np.float32)
        weights[f"{name}_bias"] = np.zeros((count, columns), np.float32)
    return weights


def _fan_in(name: str, rows: int, family: Family, arms: Arm) -> Array:
    """Inputs of a layer that are not masked, [A]."""
    if name not in family.after:
        return np.full(len(arms.lr), float(rows))
    layer = np.full(len(arms.lr), family.after[name])
    layer = np.where(layer < 0, np.rint(arms.depth).astype(int) - 1, layer)
    used = np.rint(arms.width[np.arange(len(layer)), layer])
    return np.clip(used, 1, family.hidden) * (rows // family.hidden)


def activate(which: Array, z: Array) -> Array:
    """One of `ACTIVATIONS`."""
    forms = [
        jax.nn.relu(z),
        jnp.tanh(z),
        jax.nn.sigmoid(z),
        jax.nn.elu(z),
        jax.nn.leaky_relu(z, 0.1),
        jax.nn.silu(z),
    ]
    out = forms[0]
    for index in range(1, len(ACTIVATIONS)):
        out = jnp.where(which == index, forms[index], out)
    return out


def _dense(weights: Weights, name: str, h: Array) -> Array:
    return h @ weights[name] + weights[f"{name}_bias"]


def _mask(arm: Arm, layer: int, hidden: int) -> Array:
    """1 for units that exist, [H]."""
    return 1.0 * (jnp.arange(hidden) < jnp.round(arm.width[layer]))


def _normal(arm: Arm, z: Array, mask: Array) -> Array:
    """Layer normalisation over units that exist, if the arm has it."""
    count = jnp.maximum(mask.sum(), 1.0)
    mean = (z * mask).sum(axis=-1, keepdims=True) / count
    spread = (((z - mean) * mask) ** 2).sum(axis=-1, keepdims=True) / count
    return jnp.where(arm.norm > 0, (z - mean) * jax.lax.rsqrt(spread + 1e-5) * mask, z)


def _hidden(arm: Arm, layer: int, z: Array, uniform: Array) -> Array:
    """A layer after its product: normalised if asked for, activated, masked, dropped out."""
    mask = _mask(arm, layer, z.shape[-1])
    z = _normal(arm, z, mask)
    keep = uniform >= arm.drop[layer]
    return activate(arm.activation, z) * mask * keep / (1 - arm.drop[layer])


def _stacked(arm: Arm, layer: int, new: Array, h: Array) -> Array:
    """What comes out of a layer that may be missing and may have a connection around it."""
    return jnp.where(layer < jnp.round(arm.depth), new + arm.residual * h, h)


# fully connected -----------------------------------------------------------------------------


def _mlp(weights: Weights, arm: Arm, x: Array, noise: Noise) -> Array:
    h = x + arm.noise * noise.inputs
    h = _hidden(arm, 0, _dense(weights, "dense0", h), noise.drop[0])
    for layer in range(1, LAYERS):
        new = _hidden(arm, layer, _dense(weights, f"dense{layer}", h), noise.drop[layer])
        h = _stacked(arm, layer, new, h)
    return _dense(weights, "out", h)


# convolutions, as products of patches --------------------------------------------------------


def _patches(h: Array, size: int, stride: int) -> Array:
    """[m, s, s, C] padded by 1, cut into [m, s', s', size · size · C]."""
    side = h.shape[1]
    padded = jnp.pad(h, ((0, 0), (1, 1), (1, 1), (0, 0)))
    last = side + 2 - size + 1
    cut = [
        padded[:, row : row + last : stride, column : column + last : stride]
        for row in range(size)
        for column in range(size)
    ]
    return jnp.concatenate(cut, axis=-1)


def _cnn(weights: Weights, arm: Arm, x: Array, noise: Noise) -> Array:
    image = x.reshape(-1, SIDE, SIDE, 3)
    calm = jnp.ones(())  # channels are not dropped out, only what they become
    still = arm._replace(drop=jnp.zeros(LAYERS))
    h = _hidden(still, 0, _dense(weights, "conv0", _patches(image, 4, 2)), calm)
    for layer in range(1, LAYERS):
        new = _dense(weights, f"conv{layer}", _patches(h, 3, 1))
        h = _stacked(arm, layer, _hidden(still, layer, new, calm), h)
    pooled = h.reshape(-1, 4, 2, 4, 2, h.shape[-1]).mean(axis=(2, 4))
    flat = pooled.reshape(len(x), 16, -1)
    keep = noise.drop[0][:, None, :] >= arm.drop[0]
    flat = (flat * keep / (1 - arm.drop[0])).reshape(len(x), -1)
    return _dense(weights, "out", flat)


# recurrent ------------------------------------------------------------------------------------


def _rnn(weights: Weights, arm: Arm, x: Array, noise: Noise) -> Array:
    rows = x.reshape(-1, SIDE, SIDE)
    entering = _dense(weights, "enter", rows).transpose(1, 0, 2)  # [SIDE, m, 3 H]
    mask = _mask(arm, 0, noise.drop.shape[-1])

    def read(h: Array, row: Array) -> tuple[Array, None]:
        reset, update, new = jnp.split(row, 3, axis=-1)
        kept, mixed, turned = jnp.split(_dense(weights, "turn0", h), 3, axis=-1)
        gates = arm.cell == 0
        z = jnp.where(gates, jax.nn.sigmoid(update + mixed), 0.0)
        r = jnp.where(gates, jax.nn.sigmoid(reset + kept), 1.0)
        fresh = jnp.tanh(new + r * turned)
        return (z * h + (1 - z) * fresh) * mask, None

    h = jnp.zeros((len(x), len(mask)))
    h = jax.lax.scan(read, h, entering, unroll=4)[0]
    keep = noise.drop[0] >= arm.drop[0]
    return _dense(weights, "out", h * keep / (1 - arm.drop[0]))


# attention ------------------------------------------------------------------------------------


def _heads(h: Array) -> Array:
    """[m, s, H] as [m, HEADS, s, H / HEADS]."""
    return h.reshape(*h.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def _attend(weights: Weights, layer: int, h: Array, mask: Array) -> Array:
    """What each row takes from all rows, [m, s, H]."""
    asked, keys, values = (
        _heads(part * mask) for part in jnp.split(_dense(weights, f"ask{layer}", h), 3, axis=-1)
    )
    near = asked @ keys.transpose(0, 1, 3, 2) / jnp.sqrt(asked.shape[-1])
    taken = (jax.nn.softmax(near, axis=-1) @ values).transpose(0, 2, 1, 3)
    return _dense(weights, f"take{layer}", taken.reshape(h.shape)) * mask


def _attention(weights: Weights, arm: Arm, x: Array, noise: Noise) -> Array:
    rows = x.reshape(-1, SIDE, SIDE)
    mask = _mask(arm, 0, noise.drop.shape[-1])
    h = (_dense(weights, "enter", rows) + weights["place"]) * mask
    for layer in range(BLOCKS):
        exists = 1.0 * (layer < jnp.round(arm.depth))
        h = h + exists * _attend(weights, layer, _normal(arm, h, mask), mask)
        inner = _dense(weights, f"wide{layer}", _normal(arm, h, mask))
        inner = _dense(weights, f"back{layer}", activate(arm.activation, inner)) * mask
        keep = noise.drop[layer][:, None, :] >= arm.drop[layer]
        h = h + exists * inner * keep / (1 - arm.drop[layer])
    return _dense(weights, "out", _normal(arm, h, mask).mean(axis=1))


# what classifiers and regressions are trained and measured by --------------------------------


def _entropies(out: Array, targets: Array, task: Task) -> Array:
    logs = jax.nn.log_softmax(jnp.where(task.exists > 0, out, _FAR), axis=-1)
    return -(jnp.where(task.exists > 0, logs, 0.0) * targets).sum(axis=-1)


def _squares(out: Array, targets: Array, task: Task) -> Array:
    return (((out - targets) ** 2) * task.exists).sum(axis=-1) / task.exists.sum()


Answer = Callable[[Weights, Arm, Array, Noise], Array]


def _loss_of(answer: Answer) -> Callable[..., Array]:
    def loss(w: Weights, arm: Arm, x: Array, targets: Array, task: Task, noise: Noise) -> Array:
        out = answer(w, arm, x, noise)
        even = task.exists / task.exists.sum()
        soft = (1 - arm.smoothing) * targets + arm.smoothing * even
        squares = 0.5 * _squares(out, targets, task)
        return jnp.where(task.values > 0, squares, _entropies(out, soft, task)).mean()

    return loss


def _measure_of(answer: Answer) -> Callable[..., tuple[Array, Array]]:
    def measure(
        w: Weights, arm: Arm, x: Array, targets: Array, task: Task, noise: Noise
    ) -> tuple[Array, Array]:
        out = answer(w, arm, x, noise)
        smooth = jnp.where(
            task.values > 0, _squares(out, targets, task), _entropies(out, targets, task)
        )
        said = jnp.argmax(jnp.where(task.exists > 0, out, _FAR), axis=-1)
        wrong = 1.0 * (said != jnp.argmax(targets, axis=-1))
        return smooth.mean(), jnp.where(jnp.isfinite(smooth.mean()), wrong.mean(), jnp.nan)

    return measure


# auto-encoders --------------------------------------------------------------------------------


def _coded(w: Weights, arm: Arm, x: Array, noise: Noise) -> tuple[Array, Array]:
    """Logits of the picture, [m, F], and divergence of the code, [m]."""
    h = _hidden(arm, 0, _dense(w, "dense0", x + arm.noise * noise.inputs), noise.drop[0])
    h = _stacked(arm, 1, _hidden(arm, 1, _dense(w, "dense1", h), noise.drop[1]), h)
    code, log = jnp.split(_dense(w, "code", h), 2, axis=-1)
    mask = 1.0 * (jnp.arange(LATENT) < jnp.round(arm.latent))
    log = jnp.clip(log, -20.0, 20.0)
    divergence = 0.5 * ((code**2 + jnp.exp(log) - 1 - log) * mask).sum(axis=-1)
    z = (code + arm.sampling * jnp.exp(0.5 * log) * noise.latent) * mask
    h = _hidden(arm, 0, _dense(w, "back", z), noise.drop[2])
    h = _stacked(arm, 1, _hidden(arm, 1, _dense(w, "forth1", h), jnp.ones(())), h)
    return _dense(w, "out", h), divergence


def _surprise(logits: Array, x: Array) -> Array:
    """Cross-entropy of all points of a picture, [m]."""
    return (jax.nn.softplus(logits) - x * logits).sum(axis=-1)


def _vae_loss(w: Weights, arm: Arm, x: Array, _: Array, task: Task, noise: Noise) -> Array:
    del task
    logits, divergence = _coded(w, arm, x, noise)
    return (_surprise(logits, x) + arm.kl * arm.sampling * divergence).mean()


def _vae_measure(
    w: Weights, arm: Arm, x: Array, _: Array, task: Task, noise: Noise
) -> tuple[Array, Array]:
    """Negative ELBO, and mean squared error of a point."""
    del task
    logits, divergence = _coded(w, arm, x, noise)
    squares = ((jax.nn.sigmoid(logits) - x) ** 2).mean()
    return (_surprise(logits, x) + arm.sampling * divergence).mean(), squares


H_MLP, H_CNN, H_RNN, H_ATTENTION = 128, 24, 48, 32


def _in_turn(name: str, layers: range, shape: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """Matrices of some layers, all of one shape."""
    return {f"{name}{layer}": shape for layer in layers}


def _before(name: str) -> dict[str, int]:
    """The layer before each of these."""
    return {f"{name}{layer}": layer - 1 for layer in range(1, LAYERS)}


FAMILIES = {
    "mlp": Family(
        GREY,
        H_MLP,
        {
            "dense0": (GREY, H_MLP),
            **_in_turn("dense", range(1, LAYERS), (H_MLP, H_MLP)),
            "out": (H_MLP, OUTPUTS),
        },
        {**_before("dense"), "out": -1},
        _loss_of(_mlp),
        _measure_of(_mlp),
    ),
    "cnn": Family(
        COLOUR,
        H_CNN,
        {
            "conv0": (48, H_CNN),
            **_in_turn("conv", range(1, LAYERS), (9 * H_CNN, H_CNN)),
            "out": (16 * H_CNN, OUTPUTS),
        },
        {**_before("conv"), "out": -1},
        _loss_of(_cnn),
        _measure_of(_cnn),
    ),
    "rnn": Family(
        GREY,
        H_RNN,
        {"enter": (SIDE, 3 * H_RNN), "turn0": (H_RNN, 3 * H_RNN), "out": (H_RNN, OUTPUTS)},
        {"turn0": 0, "out": 0},
        _loss_of(_rnn),
        _measure_of(_rnn),
    ),
    "attention": Family(
        GREY,
        H_ATTENTION,
        {
            "enter": (SIDE, H_ATTENTION),
            "place": (SIDE, H_ATTENTION),
            **_in_turn("ask", range(BLOCKS), (H_ATTENTION, 3 * H_ATTENTION)),
            **_in_turn("take", range(BLOCKS), (H_ATTENTION, H_ATTENTION)),
            **_in_turn("wide", range(BLOCKS), (H_ATTENTION, 2 * H_ATTENTION)),
            **_in_turn("back", range(BLOCKS), (2 * H_ATTENTION, H_ATTENTION)),
            "out": (H_ATTENTION, OUTPUTS),
        },
        {f"{name}{layer}": 0 for name in ("ask", "take", "wide") for layer in range(BLOCKS)}
        | {"out": 0},
        _loss_of(_attention),
        _measure_of(_attention),
    ),
    "vae": Family(
        GREY,
        H_MLP,
        {
            "dense0": (GREY, H_MLP),
            "dense1": (H_MLP, H_MLP),
            "code": (H_MLP, 2 * LATENT),
            "back": (LATENT, H_MLP),
            "forth1": (H_MLP, H_MLP),
            "out": (H_MLP, GREY),
        },
        {"dense1": 0, "code": -1, "forth1": 0, "out": -1},
        _vae_loss,
        _vae_measure,
    ),
}
