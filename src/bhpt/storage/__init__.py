"""Where studies are kept: one file, or a database server; append and read."""

from bhpt.storage.address import Address
from bhpt.storage.creation import copy_store
from bhpt.storage.database_server import DatabaseServer, Fault
from bhpt.storage.errors import Damaged, Exists, InUse, Removed, StoreFailed
from bhpt.storage.event_rows import Head, Lease
from bhpt.storage.holder import Holder
from bhpt.storage.reader import Reader, new_identity, peek_store, read_store
from bhpt.storage.store import Store, create_store, open_store

__all__ = [
    "Address",
    "Damaged",
    "DatabaseServer",
    "Exists",
    "Fault",
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
