"""Tune a small network on the digits data, then draw how it went.

python examples/digits.py "120 epochs"
"""

import sys
from pathlib import Path

import bhpt
from bhpt.examples.digits import SPACE, Digits


def main(budget: str) -> None:
    """Tune, say what came out, and keep two figures beside the study."""
    study = Path("runs/digits.db")
    result = bhpt.tune(
        Digits, SPACE, budget, max_epochs=40, workers=2, study=study, if_exists="resume"
    )
    print(f"best loss {result.best_loss:.4f} with {result.best_params}")
    print(f"its checkpoint is in {result.best_checkpoint}")
    for name, draw in (("curves", bhpt.plot.curves), ("importance", bhpt.plot.importance)):
        draw(result).savefig(study.with_name(f"digits_{name}.png"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "120 epochs")
