"""The command line: typer commands over the other rooms, with rich output."""

from bhpt.cli.threads import keep_to_one

keep_to_one()  # here, because every other module of this room imports numpy
