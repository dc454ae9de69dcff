"""Where a study is kept: a file, or a name in a database."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from bhpt.domain import Misuse
from bhpt.storage.database_server import DatabaseServer, find_server

_FILE = "sqlite"  # what SQLAlchemy calls a file
_DEFAULT = "default"
_SECRETS = ("password", "passwd", "pwd", "secret", "token", "credential")


@dataclass(frozen=True, slots=True)
class Address:
    """A place for one study.

    Attributes:
        url: Of the database.
        study: Name within it; a file holds one only.
        file: The SQLite file, None for a server.
    """

    url: URL
    study: str = _DEFAULT
    file: Path | None = None

    @classmethod
    def parse(cls, text: "str | Path | Address") -> "Address":
        """Read `--study`: a path, `sqlite:///PATH`, or `SERVER://…/DATABASE[?study=NAME]`.

        Raises:
            Misuse: If it is none of these.
        """
        if isinstance(text, Address):
            return text
        if not isinstance(text, str | Path) or not str(text) or "\0" in str(text):
            raise Misuse("a study needs a file name or a postgresql:// address")
        if isinstance(text, Path) or "://" not in text:
            return cls._of_file(Path(text))
        try:
            url = make_url(text)
        except ArgumentError:
            raise Misuse(f"study {_hidden(text)!r} is not an address that can be read") from None
        if url.get_backend_name() != _FILE:
            return cls._of_server(url)
        if not url.database or url.database == ":memory:":
            raise Misuse("a study on SQLite needs a file: write sqlite:///study.db")
        return cls._of_file(Path(url.database))

    @classmethod
    def _of_file(cls, file: Path) -> "Address":
        return cls(URL.create(_FILE, database=str(file)), file=file)

    @classmethod
    def _of_server(cls, url: URL) -> "Address":
        find_server(url.get_backend_name())  # refuses one that there is not
        name = url.query.get("study", _DEFAULT)
        if not isinstance(name, str) or not name or "\0" in name:
            raise Misuse("the address of a study names it at most once: ?study=NAME")
        return cls(url.difference_update_query(["study"]), study=name)

    @property
    def server(self) -> DatabaseServer:
        """The kind of server that holds the study, where it is not in a file."""
        return find_server(self.url.get_backend_name())

    def __str__(self) -> str:
        """The address as it can be shown and typed again: without anything secret.

        A password then comes from where the driver looks for it, such as `PGPASSWORD`.
        """
        if self.file is not None:
            return str(self.file)
        url = self.url
        query = {name: value for name, value in url.query.items() if not _is_secret(name)}
        if self.study != _DEFAULT:
            query["study"] = self.study
        scheme = url.get_backend_name()
        public = URL.create(scheme, url.username, None, url.host, url.port, url.database)
        return public.set(query=query).render_as_string(hide_password=False)

    def without_secrets(self, text: str) -> str:
        """A text of the database driver, in which parts of the address may be quoted."""
        secrets = [self.url.password, *_values(self.url)]
        for secret in secrets:
            if secret:
                text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
        return text


def _values(url: URL) -> Iterator[str]:
    """Every secret value in the query of an address."""
    for name, value in url.query.items():
        if _is_secret(name):
            yield from (value,) if isinstance(value, str) else value


def _is_secret(name: str) -> bool:
    """Whether a parameter of an address is a credential."""
    return any(word in name.lower() for word in _SECRETS)


def _hidden(text: str) -> str:
    """An address that cannot be read, for messages: its scheme, as the rest may be secret."""
    return f"{text.partition('://')[0]}://…"
