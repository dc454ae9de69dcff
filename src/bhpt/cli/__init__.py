"""The command line: typer commands over the other rooms, with rich output."""
