import torch
from data import X, y
from transformers import Trainer, TrainingArguments

import bhpt  # bhpt
from bhpt.integrations.transformers import Reporter, last_checkpoint  # bhpt


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(5, 1)

    def forward(self, inputs, labels):
        out = self.layer(inputs)[:, 0]
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


def train(config):
    rows = [{"inputs": torch.tensor(a), "labels": torch.tensor(b)} for a, b in zip(X, y)]
    arguments = TrainingArguments(
        "trained", eval_strategy="epoch", save_strategy="epoch", num_train_epochs=4, learning_rate=config["lr"],
        per_device_train_batch_size=50, use_cpu=True, report_to=[], disable_tqdm=True,
    )
    trainer = Trainer(Net(), arguments, train_dataset=rows[:300], eval_dataset=rows[300:], callbacks=[Reporter()])  # bhpt
    trainer.train(resume_from_checkpoint=last_checkpoint())  # bhpt


if __name__ == "__main__":
    print(bhpt.tune(train, {"lr": (1e-3, 1.0, "log")}, "8 epochs", max_epochs=4, metric="eval_loss", study="study.db", if_exists="resume"))  # bhpt
