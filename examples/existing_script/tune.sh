#!/bin/sh
# Tune train.py as it is: sh tune.sh "40 epochs"
set -e
here=$(cd "$(dirname "$0")" && pwd)
bhpt tune --command "python $here/train.py --lr {lr} --decay {decay} --epochs {epochs_total} --out {folder}" \
  --loss-regex 'val_loss=(\S+)' --space "$here/space.json" --budget "${1:-40 epochs}" --max-epochs 20 \
  --study runs/existing_script.db --progress plain
