"""Where studies are kept: one file, or a PostgreSQL server; append and read."""

from bhpt.storage.address import Address
from bhpt.storage.errors import Damaged, Exists, InUse, StoreFailed
from bhpt.storage.holder import Holder
from bhpt.storage.store import Lease, Reader, Store, create_store, open_store, read_store

__all__ = [
    "Address",
    "Damaged",
    "Exists",
    "Holder",
    "InUse",
    "Lease",
    "Reader",
    "Store",
    "StoreFailed",
    "create_store",
    "open_store",
    "read_store",
]
