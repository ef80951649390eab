"""Version of the package."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed


@cache
def version() -> str:
    """Returns the version of the installed package; ``0`` if Python runs the source folder without
    an installation."""
    try:
        return installed("secrets-service")
    except PackageNotFoundError:
        return "0"
