"""Training loops as people write them, each with the few lines that bhpt needs."""

from typing import Any

import numpy as np

import bhpt


def data(rows: int = 200) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(rows, 5))
    return inputs, inputs @ np.arange(5.0) + 0.1 * rng.normal(size=rows)


def torch_loop(config: dict[str, Any]) -> None:
    import torch

    from bhpt.integrations.torch import TrainingState

    torch.manual_seed(0)
    inputs, targets = (torch.tensor(part, dtype=torch.float32) for part in data())
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), config["lr"], momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.9)
    state = TrainingState(model=model, optimizer=optimizer, scheduler=scheduler)
    for epoch in state.epochs():
        for batch in torch.randperm(len(inputs)).split(50):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs[batch])[:, 0], targets[batch])
            loss.backward()
            optimizer.step()
        scheduler.step()
        bhpt.report({"loss": loss.item(), "epoch": epoch}, checkpoint=state.save)


def xgboost_loop(config: dict[str, Any]) -> None:
    import xgboost

    from bhpt.integrations.xgboost import FOREVER, Reporter, last_model

    inputs, targets = data()
    train = xgboost.DMatrix(inputs[:150], targets[:150])
    held_out = xgboost.DMatrix(inputs[150:], targets[150:])
    xgboost.train(
        {"eta": config["lr"], "max_depth": 2, "nthread": 1},
        train,
        num_boost_round=FOREVER,
        evals=[(held_out, "valid")],
        verbose_eval=False,
        xgb_model=last_model(),
        callbacks=[Reporter("valid", rounds=2)],
    )


def lightgbm_loop(config: dict[str, Any]) -> None:
    import lightgbm

    from bhpt.integrations.lightgbm import FOREVER, last_model, reporter

    inputs, targets = data()
    train = lightgbm.Dataset(inputs[:150], targets[:150], free_raw_data=False)
    lightgbm.train(
        {
            "objective": "regression",
            "learning_rate": config["lr"],
            "verbose": -1,
            "num_threads": 1,
        },
        train,
        num_boost_round=FOREVER,
        valid_sets=[train.create_valid(inputs[150:], targets[150:])],
        init_model=last_model(),
        callbacks=[reporter(rounds=2)],
    )
