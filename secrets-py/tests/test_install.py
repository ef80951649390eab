"""Tests of the wheel, installed into a new virtual environment by a user without access to the
repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import client, name
from program import TARGET, jwt
from test_readme import README, SNIPPETS

WHEEL = os.environ.get("SECRETS_TEST_WHEEL", "")
NOBODY = 65534
# Minor versions of Python 3 that the package supports.
MINORS = range(10, 14)


class User:
    """User with an empty home folder. If the tests run as root, the commands run as the user
    ``nobody`` instead."""

    def __init__(self, home: Path) -> None:
        self.home = home
        own = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info[1]}"
        self.python, self.other = str(own), []
        if os.getuid() == 0:
            other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            # The process that setpriv starts can still read the files of root, so a shell executes
            # the program.
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
    """Returns True if a Python interpreter has version 3.10 or later and can create virtual
    environments."""
    code = "import ensurepip, sys, venv; assert sys.version_info >= (3, 10)"
    try:
        return subprocess.run([*python, "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def interpreters() -> list[str]:
    """Returns the paths of Python interpreters on this machine: the running one, and one of each
    other supported version."""
    found = {sys.version_info[1]: sys.executable}
    for minor in MINORS:
        # pyenv has a folder for each version, beside the folder of this Python.
        siblings = Path(sys.base_prefix).parent.glob(f"3.{minor}.*/bin/python3.{minor}")
        for python in (*sorted(map(str, siblings)), f"python3.{minor}"):
            if minor not in found and runs([python]):
                found[minor] = python
    return list(found.values())


def home() -> Path:
    """Creates a home folder for the user, in ``target/test/tmp``; in ``/tmp`` if the tests run as
    root and other users cannot access the target folder."""
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


def wheels(folder: Path) -> Path:
    """Copies the wheel of the package and the wheels of its dependencies into a folder. Returns the
    path of the copied wheel of the package."""
    assert WHEEL, "the suite sets SECRETS_TEST_WHEEL"
    dependencies = Path(os.environ["SECRETS_TEST_DEPENDENCIES"]).glob("*.whl")
    for path in (Path(WHEEL), *dependencies):
        shutil.copy(path, folder)
        (folder / path.name).chmod(0o644)
    return folder / Path(WHEEL).name


def test_the_wheel_is_all_that_is_needed(user: User) -> None:
    wheel = wheels(user.home)

    user.run(user.python, "-m", "venv", user.home / "venv")
    python = user.home / "venv/bin/python"
    user.run(python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", user.home, wheel)

    installed = user.run(python, "-m", "pip", "list", "--format", "freeze").split()
    names = {one.partition("=")[0] for one in installed}
    assert names <= {"pip", "setuptools", "secrets-service", "urllib3"}
    for snippet in (one for one in SNIPPETS if "SECRETS_URL" not in one):
        user.run(python, "-c", snippet)
    [print_recipes] = re.findall(r"^python -c '(.*RECIPES.*)'$", README, re.MULTILINE)
    assert user.run(python, "-c", print_recipes).startswith("# Recipes\n")


READ = """
import asyncio
from secrets_service import AsyncClient, Client, Service
with Service.open("memory:") as service:
    alice = service.sign_in(issuer="here", subject="1", email="alice@example.com")
    at = {"project": alice.project.create(name="Shop")["slug"], "environment": "staging"}
    alice.secret.create(**at, key="URL", value="kvc_url")
    print(str(alice.secret.get(**at, key="URL")["value"]))
with Client.from_env() as client:
    at["project"] = client.project.create(name="Shop")["slug"]
    client.secret.create(**at, key="URL", value="kvc_url")
    print(str(client.secret.get(**at, key="URL")["value"]))
async def read():
    async with AsyncClient.from_env() as client:
        print(str((await client.secret.get(**at, key="URL"))["value"]))
asyncio.run(read())
"""


@pytest.mark.parametrize("python", interpreters())
def test_every_supported_python_reads_a_secret(python: str, program: Any, tmp_path: Path) -> None:
    wheel, person = wheels(tmp_path), name()
    client(program, person).close()
    subprocess.run([python, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    installed = tmp_path / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", installed, "install", "--quiet", "--no-index"]
    subprocess.run([*pip, "--find-links", tmp_path, wheel], check=True)

    done = subprocess.run(
        [installed, "-I", "-c", READ],
        env={"SECRETS_URL": program.url, "SECRETS_TOKEN": jwt(person)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["kvc_url"] * 3
