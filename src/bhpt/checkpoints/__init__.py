"""Checkpoint folders that are whole or not there: sealed, committed by rename, verified, capped."""

from bhpt.checkpoints.checkpoint import Checkpoint
from bhpt.checkpoints.disk import DiskFull, is_disk_full
from bhpt.checkpoints.drops import plan_drops
from bhpt.checkpoints.local_folder import LocalFolder
from bhpt.checkpoints.manifest import Seal, UnsafeCheckpoint, seal
from bhpt.checkpoints.place import CheckpointPlace, Draft, Generation, PlaceAway
from bhpt.checkpoints.remote_folder import RemoteFolder
from bhpt.checkpoints.store import CheckpointStore, Thawed

__all__ = [
    "Checkpoint",
    "CheckpointPlace",
    "CheckpointStore",
    "DiskFull",
    "Draft",
    "Generation",
    "LocalFolder",
    "PlaceAway",
    "RemoteFolder",
    "Seal",
    "Thawed",
    "UnsafeCheckpoint",
    "is_disk_full",
    "plan_drops",
    "seal",
]
