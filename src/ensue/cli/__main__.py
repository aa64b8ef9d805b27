"""`python -m ensue.cli` is the command `ensue`."""

from ensue.cli import main

if __name__ == "__main__":
    main()
