"""Loops of frameworks that are large: tested where they are installed."""

import tempfile
from typing import Any

from tests.integrations.loops import data


def keras_loop(config: dict[str, Any]) -> None:
    import keras

    from bhpt.integrations.keras import FOREVER, Reporter, last_model

    inputs, targets = data()
    model = last_model()
    if model is None:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(config["lr"]), "mse")
    model.fit(
        inputs,
        targets,
        batch_size=50,
        shuffle=False,
        epochs=FOREVER,
        verbose=0,
        callbacks=[Reporter()],
    )


def lightning_loop(config: dict[str, Any]) -> None:
    import torch
    from lightning.pytorch import LightningModule, Trainer

    from bhpt.integrations.lightning import FOREVER, Reporter, last_checkpoint

    class Linear(LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(5, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = torch.nn.functional.mse_loss(self.layer(batch[0])[:, 0], batch[1])
            self.log("loss", loss, on_step=False, on_epoch=True)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), config["lr"])

    parts = (torch.tensor(part, dtype=torch.float32) for part in data())
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*parts), 50)
    trainer = Trainer(
        max_epochs=FOREVER,
        callbacks=[Reporter()],
        accelerator="cpu",
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    trainer.fit(Linear(), loader, ckpt_path=last_checkpoint())


def transformers_loop(config: dict[str, Any]) -> None:
    import torch
    from transformers import Trainer, TrainingArguments

    from bhpt.integrations.transformers import Reporter, last_checkpoint

    class Linear(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(5, 1)

        def forward(self, inputs: Any, labels: Any) -> Any:
            out = self.layer(inputs)[:, 0]
            return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}

    inputs, targets = (torch.tensor(part, dtype=torch.float32) for part in data())
    rows = [{"inputs": one, "labels": y} for one, y in zip(inputs, targets, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=1,
            num_train_epochs=20,
            per_device_train_batch_size=50,
            learning_rate=config["lr"],
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            logging_strategy="no",
        )
        trainer = Trainer(
            Linear(), arguments, train_dataset=rows, eval_dataset=rows, callbacks=[Reporter()]
        )
        trainer.train(resume_from_checkpoint=last_checkpoint())
