import json

import bhpt  # bhpt


def train(config):
    weight = 0.0
    if folder := bhpt.checkpoint():  # bhpt
        weight = json.loads((folder / "weight.json").read_text())  # bhpt
    while True:
        weight += config["rate"] * (3.0 - weight)
        save = lambda folder: (folder / "weight.json").write_text(json.dumps(weight))  # bhpt
        bhpt.report((3.0 - weight) ** 2, checkpoint=save)  # bhpt


print(bhpt.tune(train, {"rate": (0.01, 1.0, "log")}, "10 epochs", max_epochs=5, study="study.db", if_exists="resume"))  # bhpt
