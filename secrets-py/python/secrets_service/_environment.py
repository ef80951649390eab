"""Secrets as environment variables of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ._client import Client
from ._hidden import Hidden


def load_env(
    *,
    project: str,
    environment: str,
    override: bool = False,
    client: Client | None = None,
) -> dict[str, Hidden]:
    """Sets the secrets of an environment as environment variables of this process.

    A variable that is already set keeps its value, unless ``override`` is true. ``client`` defaults
    to :meth:`Client.from_env`. Returns the variables that were set.

    >>> load_env(project="shop", environment="staging")  # doctest: +SKIP
    {'DATABASE_URL': <hidden>}
    """
    if client is None:
        with Client.from_env() as own:
            values = own.secret.values(project=project, environment=environment)
    else:
        values = client.secret.values(project=project, environment=environment)
    chosen = missing(values, os.environ, override)
    os.environ.update(chosen)
    return chosen


def missing(
    values: dict[str, Hidden], variables: Mapping[str, str], override: bool
) -> dict[str, Hidden]:
    """Returns the values whose environment variable is not set yet; all values if ``override`` is
    true."""
    return {key: value for key, value in values.items() if override or key not in variables}
