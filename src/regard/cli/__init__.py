"""The command line: one file a verb, everything heavy imported inside the verb, so that --help answers at once."""

from regard.cli.app import app

__all__ = ["app"]
