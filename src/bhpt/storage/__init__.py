"""Where studies are kept: one file, or a PostgreSQL server; append and read."""

from bhpt.storage.address import Address
from bhpt.storage.errors import Damaged, Exists, InUse, Removed, StoreFailed
from bhpt.storage.holder import Holder
from bhpt.storage.store import (
    Head,
    Lease,
    Reader,
    Store,
    copy_store,
    create_store,
    new_identity,
    open_store,
    peek_store,
    read_store,
)

__all__ = [
    "Address",
    "Damaged",
    "Exists",
    "Head",
    "Holder",
    "InUse",
    "Lease",
    "Reader",
    "Removed",
    "Store",
    "StoreFailed",
    "copy_store",
    "create_store",
    "new_identity",
    "open_store",
    "peek_store",
    "read_store",
]
