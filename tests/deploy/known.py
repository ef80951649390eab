"""Settings of the program, and paths of the files that use them."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from typing import Any

from program import ROOT, TARGET

DEPLOY = ROOT / "deploy"


def workspace() -> dict[str, Any]:
    """Table `workspace` of the workspace manifest."""
    found: dict[str, Any] = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    return found


def output(*arguments: str) -> str:
    """Standard output of the program."""
    program = TARGET / "debug/secrets-http"
    result = subprocess.run([program, *arguments], capture_output=True, check=True, text=True)
    return result.stdout


@cache
def variables() -> frozenset[str]:
    """Variables in the help text of `serve`: `SECRETS_LISTEN`, `SECRETS_ROOT_KEY_FILE`, …"""
    bracketed = re.findall(r"\[(SECRETS_[^\]]*)\]$", output("serve", "--help"), re.MULTILINE)
    names = frozenset(name for names in bracketed for name in names.split("; "))
    assert len(names) > 30, "the form of the help text has changed"
    return names


def keys(*, secret: bool) -> set[str]:
    """Keys of settings in the configuration file: the settings that can be read from a separate
    file, or the other settings."""
    with_file = {name.removesuffix("_FILE") for name in variables() if name.endswith("_FILE")}
    plain = {name for name in variables() if not name.endswith("_FILE")} - with_file
    names = with_file if secret else plain
    return {name.removeprefix("SECRETS_").lower() for name in names}


def named(text: str) -> set[str]:
    """Variables of the program that a text names."""
    return set(re.findall(r"\bSECRETS_[A-Z0-9_]+\b", text))
