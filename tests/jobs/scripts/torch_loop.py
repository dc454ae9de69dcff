import torch
from data import X, y

import bhpt  # bhpt
from bhpt.integrations.torch import TrainingState  # bhpt


def train(config):
    torch.manual_seed(0)
    inputs, targets = torch.tensor(X), torch.tensor(y)[:, None]
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), config["lr"], momentum=config["momentum"])
    state = TrainingState(model=model, optimizer=optimizer)  # bhpt
    for epoch in state.epochs():  # bhpt
        for rows in torch.randperm(300).split(50):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs[rows]), targets[rows])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val_loss = torch.nn.functional.mse_loss(model(inputs[300:]), targets[300:])
        bhpt.report({"loss": val_loss.item()}, checkpoint=state.save)  # bhpt


if __name__ == "__main__":
    space = {"lr": (1e-3, 0.3, "log"), "momentum": (0.0, 0.95)}
    print(bhpt.tune(train, space, "10 epochs", max_epochs=5, study="study.db", if_exists="resume"))  # bhpt
