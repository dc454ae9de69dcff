"""A training script as there are many: it knows nothing of bhpt.

It goes on from what it finds in its folder, prints a loss every epoch, and saves what it has.
"""

import argparse
import json
import random
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--decay", type=float, default=0.0)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--out", type=Path, default=Path())
given = parser.parse_args()

random.seed(0)
points = [(x / 50, 3 * x / 50 - 1 + random.gauss(0, 0.1)) for x in range(100)]
kept = given.out / "model.json"
slope, offset, begun = json.loads(kept.read_text()) if kept.exists() else (0.0, 0.0, 0)

for epoch in range(begun, given.epochs):
    for x, y in points:
        error = slope * x + offset - y
        slope -= given.lr * (error * x + given.decay * slope)
        offset -= given.lr * error
    loss = sum((slope * x + offset - y) ** 2 for x, y in points) / len(points)
    print(f"epoch {epoch + 1}: val_loss={loss:.6f}")

kept.write_text(json.dumps([slope, offset, given.epochs]))
