import torch
from data import X, y
from lightning.pytorch import LightningModule, Trainer

import bhpt  # bhpt
from bhpt.integrations.lightning import FOREVER, Reporter, last_checkpoint  # bhpt


class Net(LightningModule):
    def __init__(self, lr):
        super().__init__()
        torch.manual_seed(0)
        self.lr, self.layer = lr, torch.nn.Linear(5, 1)

    def training_step(self, batch, _):
        return torch.nn.functional.mse_loss(self.layer(batch[0])[:, 0], batch[1])

    def validation_step(self, batch, _):
        self.log("val_loss", torch.nn.functional.mse_loss(self.layer(batch[0])[:, 0], batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), self.lr)


def train(config):
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(y))
    parts = [torch.utils.data.Subset(data, range(300)), torch.utils.data.Subset(data, range(300, 400))]
    loaders = [torch.utils.data.DataLoader(part, 50) for part in parts]
    trainer = Trainer(
        max_epochs=FOREVER,  # bhpt
        callbacks=[Reporter()],  # bhpt
        accelerator="cpu", enable_checkpointing=False, enable_progress_bar=False, logger=False,
    )
    trainer.fit(Net(config["lr"]), *loaders, ckpt_path=last_checkpoint())  # bhpt


if __name__ == "__main__":
    print(bhpt.tune(train, {"lr": (1e-3, 1.0, "log")}, "8 epochs", max_epochs=4, metric="val_loss", study="study.db", if_exists="resume"))  # bhpt
