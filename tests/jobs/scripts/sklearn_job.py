import joblib
from data import X, labels
from sklearn.linear_model import SGDClassifier

import bhpt  # bhpt


def train(config):
    model = SGDClassifier(alpha=config["alpha"], random_state=0)
    if folder := bhpt.checkpoint():  # bhpt
        model = joblib.load(folder / "model")  # bhpt
    while True:
        model.partial_fit(X[:300], labels[:300], classes=[0, 1])
        score = model.score(X[300:], labels[300:])
        bhpt.report({"accuracy": score}, checkpoint=lambda folder: joblib.dump(model, folder / "model"))  # bhpt


if __name__ == "__main__":
    print(bhpt.tune(train, {"alpha": (1e-6, 1.0, "log")}, "10 epochs", max_epochs=5, metric="accuracy", mode="max", study="study.db", if_exists="resume"))  # bhpt
