"""Tune a small transformer with Hugging Face's Trainer; the data is made here, nothing is loaded.

python examples/hugging_face.py "10 epochs"
"""

import sys
import tempfile
from typing import Any

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import bhpt
from bhpt.integrations.transformers import Reporter, last_checkpoint

EPOCHS = 10
SPACE = {
    "learning_rate": (1e-5, 1e-2, "log"),
    "weight_decay": (1e-4, 0.3, "log"),
    "batch_size": [16, 32, 64],
    "layers": (1, 3),
}


class Brackets(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Sequences of brackets: is the first one the most frequent?"""

    def __init__(self, size: int, seed: int) -> None:
        random = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(1, 5, (size, 12), generator=random)
        self.labels = (self.tokens == self.tokens[:, :1]).sum(1).gt(3).long()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[place], "labels": self.labels[place]}


def train(config: dict[str, Any]) -> None:
    """Train one configuration; the callback reports what each evaluation gives."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the network is tiny: more would only wait for each other
    shape = BertConfig(
        vocab_size=8,
        hidden_size=32,
        num_hidden_layers=config["layers"],
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=2,
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            eval_strategy="epoch",
            save_strategy="epoch",
            num_train_epochs=EPOCHS,
            learning_rate=config["learning_rate"],
            weight_decay=config["weight_decay"],
            per_device_train_batch_size=config["batch_size"],
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = Trainer(
            BertForSequenceClassification(shape),
            arguments,
            train_dataset=Brackets(256, seed=0),
            eval_dataset=Brackets(128, seed=1),
            callbacks=[Reporter()],
        )
        trainer.train(resume_from_checkpoint=last_checkpoint())


def main(budget: str) -> None:
    """Tune for the loss of an evaluation."""
    result = bhpt.tune(
        train,
        SPACE,
        budget,
        metric="eval_loss",
        max_epochs=EPOCHS,
        study="runs/hugging_face.db",
        if_exists="resume",
    )
    print(f"best eval_loss {result.best_loss:.4f} with {result.best_params}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "10 epochs")
