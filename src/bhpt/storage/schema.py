"""Tables and versions. One study is a chain of events: each row's digest covers all before it."""

import hashlib

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

FORMAT = 1
"""Version of the tables; a study with a higher one was written by a newer bhpt."""

APPLICATION_ID = 0x62687074
""""bhpt" in the header of an SQLite file, so that no other file is taken for a study."""

metadata = MetaData()

studies = Table(
    "bhpt_studies",
    metadata,
    Column("study", String(200), primary_key=True),
    Column("format", Integer, nullable=False),
)

events = Table(
    "bhpt_events",
    metadata,
    Column("study", String(200), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("recorded", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("digest", String(64), nullable=False),
)

leases = Table(
    "bhpt_leases",
    metadata,
    Column("study", String(200), primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("clock", Float, nullable=False),
)

states = Table(
    "bhpt_states",
    metadata,
    Column("study", String(200), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("event", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
)

FIRST_DIGEST = "0" * 64


def chain(previous: str, body: str) -> str:
    """The digest of an event that follows the one with digest `previous`."""
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()
