"""Settings of the program `secrets-http`, and the names of settings that deployment files use."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from typing import Any

from program import ROOT, TARGET

DEPLOY = ROOT / "deploy"


def workspace() -> dict[str, Any]:
    """Returns the table `workspace` of the file `Cargo.toml` in the root folder."""
    found: dict[str, Any] = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    return found


def output(*arguments: str) -> str:
    """Runs the program `secrets-http` with these arguments, and returns its standard
    output."""
    program = TARGET / "debug/secrets-http"
    result = subprocess.run([program, *arguments], capture_output=True, check=True, text=True)
    return result.stdout


@cache
def variables() -> frozenset[str]:
    """Returns the names of all environment variables in the output of `serve --help`, such as
    `SECRETS_LISTEN` and `SECRETS_ROOT_KEY_FILE`."""
    bracketed = re.findall(r"\[(SECRETS_[^\]]*)\]$", output("serve", "--help"), re.MULTILINE)
    names = frozenset(name for names in bracketed for name in names.split("; "))
    assert len(names) > 30, "the form of the help text has changed"
    return names


def keys(*, secret: bool) -> set[str]:
    """Returns names of settings as keys of the configuration file, such as `listen`. If
    `secret` is true, returns the settings whose value can come from a separate file
    (`…_FILE`); otherwise all others."""
    with_file = {name.removesuffix("_FILE") for name in variables() if name.endswith("_FILE")}
    plain = {name for name in variables() if not name.endswith("_FILE")} - with_file
    names = with_file if secret else plain
    return {name.removeprefix("SECRETS_").lower() for name in names}


def named(text: str) -> set[str]:
    """Returns the environment variables of the program (`SECRETS_…`) that a string
    mentions."""
    return set(re.findall(r"\bSECRETS_[A-Z0-9_]+\b", text))
