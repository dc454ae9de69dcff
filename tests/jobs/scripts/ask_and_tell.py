import time

import bhpt  # bhpt


def train(rate, first, last):
    time.sleep(0.1)
    return [(3.0 * (1.0 - rate) ** epoch) ** 2 for epoch in range(first, last + 1)]


keep = bhpt.stored("study.db", if_exists="resume")  # bhpt
with bhpt.Study({"rate": (0.01, 1.0, "log")}, "10 epochs", max_epochs=5, keep=keep) as study:  # bhpt
    while (unit := study.ask()) is not None:  # bhpt
        study.tell(unit, train(unit.config["rate"], unit.done + 1, unit.done + unit.epochs))  # bhpt
    print(study.best_config)
