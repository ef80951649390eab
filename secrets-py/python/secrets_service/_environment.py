"""Secrets as environment variables of this process, or of a program."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ._client import Client
from ._hidden import Hidden

# Variables that determine which code a program executes, such as LD_PRELOAD. `*` at the end of a
# name stands for any characters. The command line `secrets` has the same list
# (secrets-http/src/bin/secrets/run/environment.rs).
CODE_LOADING = (
    "PATH",
    "LD_*",
    "DYLD_*",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "GIT_SSH*",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_*",
    "PYTHONHOME",
)

# Variables with the token of this process. The command line `secrets` has the same list.
TOKEN_VARIABLES = ("SECRETS_TOKEN", "SECRETS_TOKEN_FILE")


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

    Secrets can also set variables that determine which code a child process executes, such as
    ``PATH`` and ``LD_PRELOAD``. The command ``python -m secrets_service run`` refuses them.

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


def inherited(variables: Mapping[str, str], keep_token: bool) -> dict[str, str]:
    """Returns the environment variables of this process that a program inherits: without a token,
    unless ``keep_token`` is true."""
    return {
        name: value
        for name, value in variables.items()
        if keep_token or name not in TOKEN_VARIABLES
    }


def code_loading(names: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """Returns the names of variables that determine which code a program executes, in alphabetical
    order. Leaves out the names in ``allowed``."""
    return sorted(name for name in set(names).difference(allowed) if _is_code_loading(name))


def _is_code_loading(name: str) -> bool:
    return any(
        name.startswith(one[:-1]) if one.endswith("*") else name == one for one in CODE_LOADING
    )
