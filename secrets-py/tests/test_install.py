"""The wheel, installed into an empty environment by a user without access to the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TARGET
from test_readme import SNIPPETS

WHEEL = os.environ.get("SECRETS_TEST_WHEEL", "")
NOBODY = 65534




class User:
    """User with an empty home: another user, if we may switch to one who can run Python."""

    def __init__(self, home: Path) -> None:
        self.home = home
        own = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info[1]}"
        self.python, self.other = str(own), []
        if os.getuid() == 0:
            other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            # The process that setpriv starts can still read our files, so it execs once more.
            other += ["sh", "-c", 'exec "$@"', "sh"]
            for python in (str(own), "/usr/bin/python3"):
                if runs([*other, python]):
                    self.python, self.other = python, other
                    os.chown(home, NOBODY, NOBODY)
                    break
            assert self.other, "nobody else can run a Python with venv: install python3-venv"

    def run(self, *command: object) -> str:
        words = [*self.other, *(str(word) for word in command)]
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        done = subprocess.run(
            words, cwd=self.home, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def runs(python: list[str]) -> bool:
    """True if this Python is supported by the package and can create environments."""
    code = "import ensurepip, sys, venv; assert sys.version_info >= (3, 10)"
    try:
        return subprocess.run([*python, "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def home() -> Path:
    """A folder under the target folder; where somebody else cannot reach that, /tmp must do."""
    base = TARGET / "test/tmp"
    base.mkdir(parents=True, exist_ok=True)
    path = [base, *base.parents]
    is_open = os.getuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in path)
    return Path(tempfile.mkdtemp(dir=base if is_open else "/tmp"))


@pytest.fixture
def user() -> Iterator[User]:
    folder = home()
    yield User(folder)
    shutil.rmtree(folder)


def test_the_wheel_is_all_that_is_needed(user: User) -> None:
    assert WHEEL, "the suite says which"
    wheel = user.home / Path(WHEEL).name
    shutil.copy(WHEEL, wheel)
    wheel.chmod(0o644)
    for dependency in Path(os.environ["SECRETS_TEST_DEPENDENCIES"]).glob("*.whl"):
        shutil.copy(dependency, user.home)
        (user.home / dependency.name).chmod(0o644)

    user.run(user.python, "-m", "venv", user.home / "venv")
    python = user.home / "venv/bin/python"
    user.run(python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", user.home, wheel)

    installed = user.run(python, "-m", "pip", "list", "--format", "freeze").split()
    names = {one.partition("=")[0] for one in installed}
    assert names <= {"pip", "setuptools", "secrets-service", "urllib3"}
    for snippet in (one for one in SNIPPETS if "SECRETS_URL" not in one):
        user.run(python, "-c", snippet)
