import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5)).astype("float32")
y = (X @ rng.normal(size=5) + 0.1 * rng.normal(size=400)).astype("float32")
labels = (y > 0).astype(int)
