"""The wheel, installed into an empty environment by a user who has nothing of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_readme import SNIPPETS

WHEEL = os.environ.get("SECRETS_TEST_WHEEL", "")
NOBODY = 65534


@pytest.fixture
def home() -> Iterator[Path]:
    """The folder of somebody else, where we may be somebody else."""
    folder = Path(tempfile.mkdtemp())
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def run(home: Path, *command: object) -> str:
    words = [str(word) for word in command]
    if os.getuid() == 0:
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_is_all_that_is_needed(home: Path) -> None:
    assert WHEEL, "the suite says which"
    wheel = home / Path(WHEEL).name
    shutil.copy(WHEEL, wheel)
    wheel.chmod(0o644)
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"

    run(home, base, "-m", "venv", home / "venv")
    python = home / "venv/bin/python"
    run(home, python, "-m", "pip", "install", "--quiet", "--no-index", wheel)

    installed = run(home, python, "-m", "pip", "list", "--format", "freeze").split()
    assert {one.partition("=")[0] for one in installed} <= {"pip", "setuptools", "secrets-service"}
    for snippet in (one for one in SNIPPETS if "SECRETS_URL" not in one):
        assert run(home, python, "-c", snippet) is not None
