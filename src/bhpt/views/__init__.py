"""How a study looks on a terminal or as plain lines, for the command line and for Python."""
