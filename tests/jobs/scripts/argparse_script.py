import argparse
import json
import pathlib

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
parser.add_argument("--epochs", type=int, default=100)
parser.add_argument("--out", type=pathlib.Path)
options = parser.parse_args()

state = options.out / "state.json"
weight, begun = json.loads(state.read_text()) if state.exists() else (0.0, 0)
for epoch in range(begun, options.epochs):
    weight += options.rate * (3.0 - weight)
    print(f"epoch {epoch + 1}: val_loss={(3.0 - weight) ** 2:.6f}")
state.write_text(json.dumps([weight, options.epochs]))
