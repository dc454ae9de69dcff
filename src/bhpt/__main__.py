"""`python -m bhpt`: the command line."""

from bhpt.cli.main import main

if __name__ == "__main__":
    main()
