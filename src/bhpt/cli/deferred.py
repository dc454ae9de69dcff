"""Commands that are imported when they are called, so that help and mistypings cost nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class CommandEntry:
    """A command of a group.

    Attributes:
        name: What a person types.
        target: MODULE:NAME of the function, or of the `Typer` of a group.
        about: The first line of its help, for the list of commands.
    """

    name: str
    target: str
    about: str


class DeferredCommand(TyperCommand):
    """A placeholder with a name and a help line; imports the command when it is called."""

    def __init__(self, entry: CommandEntry) -> None:
        super().__init__(entry.name, help=entry.about, rich_markup_mode=None)
        self._target = entry.target

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: Any = None,  # noqa: ANN401  # typer does not export the type
        **extra: Any,  # noqa: ANN401  # likewise
    ) -> Any:  # noqa: ANN401  # likewise
        """Parse the arguments with the command itself, which is then the one that runs."""
        return load_command(self._target).make_context(info_name, args, parent, **extra)


def load_command(target: str) -> TyperCommand | TyperGroup:
    """Import a command.

    Args:
        target: MODULE:NAME of a function or of a `Typer`.
    """
    module, _, name = target.partition(":")
    found: typer.Typer | Any = getattr(import_module(module), name)
    app = found if isinstance(found, typer.Typer) else _app_of(found)
    command: TyperCommand | TyperGroup = typer.main.get_command(app)  # type: ignore[assignment]
    return command


def _app_of(function: Any) -> typer.Typer:  # noqa: ANN401  # any function with typer's annotations
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(function)
    return app


def deferred_group(entries: Sequence[CommandEntry]) -> type[TyperGroup]:
    """The class of a group of these commands, for `typer.Typer(cls=…)`."""

    class DeferredGroup(TyperGroup):
        """A group whose commands are imported when they are called."""

        def __init__(self, **attributes: Any) -> None:  # noqa: ANN401  # typer's own
            super().__init__(**attributes)
            for entry in entries:
                self.add_command(DeferredCommand(entry))

    return DeferredGroup
