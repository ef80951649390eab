"""Version of the package."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed


@cache
def version() -> str:
    """Version of the installed package; ``0`` if the package is used from its source."""
    try:
        return installed("secrets-service")
    except PackageNotFoundError:
        return "0"
