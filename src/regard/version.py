"""Which version this is: written in files, and said by `regard --version`."""

__version__ = "0.1.0"
