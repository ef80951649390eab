"""The generated modules match the OpenAPI document and pass the type checkers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from program import ROOT, TARGET

PACKAGE = ROOT / "secrets-py/python/secrets_service"
PYRIGHT = ROOT / "tests/pyright/node_modules/.bin/pyright"

USE = """
from typing import assert_type
from secrets_service import AsyncClient, AsyncSession, Client, Hidden, Service, Session, types

def both(session: Session | Client) -> None:
    secret = session.secret.get(project="shop", environment="staging", key="URL")
    assert_type(secret["value"], Hidden)
    assert_type(session.secret.export(project="p", environment="e", format="json"), Hidden)
    listed = session.secret.export(project="p", environment="e")
    assert_type(listed, list[types.SecretWithValueAndInheritance])
    assert_type(session.token.create(name="t")["token"], Hidden)
    assert_type(session.project.list(), list[types.Project])
    session.environment.update(project="p", environment="e", inherits_from=None)

async def awaited(session: AsyncSession | AsyncClient) -> None:
    project = await session.project.create(name="Shop")
    assert_type(project["slug"], str)

with Service.open("memory:") as service:
    both(service.sign_in(issuer="here", subject="1", email="a@example.com"))
both(Client("https://secrets.example.com", token="env_"))
"""

MISUSE = {
    "session.secret.get(project='p', environment='e')": "missing",
    "session.secret.get('p', 'e', 'K')": "positional",
    "session.secret.get(project='p', environment='e', key='K')['valeu']": "a field",
    "session.secret.create(project='p', environment='e', key='K', valeu='v')": "a name",
    "session.project.create(name=1)": "a type",
    "session.secret.export(project='p', environment='e', format='toml')": "a format",
    "session.secrets.get": "a noun",
}


def run(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    # Pyright verifies the types of packages of the first Python in the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "MYPY_CACHE_DIR": str(TARGET / "test/mypy"), "PATH": path}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_faces_are_those_of_the_interface(tmp_path: Path) -> None:
    document = run(TARGET / "debug/secrets-http", "openapi").stdout
    made = subprocess.run(
        [sys.executable, ROOT / "secrets-py/generate/operations.py", "--python", tmp_path],
        input=document, capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr

    files = sorted(path.name for path in tmp_path.iterdir())
    assert len(files) == 4
    for file in files:
        same = (tmp_path / file).read_text() == (PACKAGE / file).read_text()
        assert same, f"{file} is old: secrets-http openapi | secrets-py/generate/operations.py --python {PACKAGE}"


def test_the_stubs_are_those_of_the_module() -> None:
    done = run(sys.executable, "-m", "mypy.stubtest", "secrets_service._native", "--ignore-disjoint-bases")
    assert done.returncode == 0, done.stdout


def mypy(path: Path) -> subprocess.CompletedProcess[str]:
    # Not every database driver has type stubs.
    untyped = "--disable-error-code=import-untyped"
    return run(sys.executable, "-m", "mypy", "--strict", "--python-version=3.11", untyped, path)


def pyright(path: Path) -> subprocess.CompletedProcess[str]:
    assert PYRIGHT.exists(), "was `npm ci` run in tests/pyright?"
    return run(PYRIGHT, "--pythonpath", sys.executable, path, cwd=path.parent)


CHECKERS = [mypy, pyright]
Checker = Callable[[Path], "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_package_is_typed(checker: Checker) -> None:
    done = checker(PACKAGE)
    assert done.returncode == 0, done.stdout


def test_every_public_type_is_known() -> None:
    done = run(PYRIGHT, "--verifytypes", "secrets_service")
    # Also fails if a type is only inferred, which type checkers do differently.
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("checker", CHECKERS)
def test_what_is_used_rightly_is_right(checker: Checker, tmp_path: Path) -> None:
    path = tmp_path / "use.py"
    path.write_text(USE)
    done = checker(path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("checker", CHECKERS)
def test_what_is_used_wrongly_is_told(checker: Checker, tmp_path: Path) -> None:
    path = tmp_path / "misuse.py"
    head = "from secrets_service import Session\n\ndef f(session: Session) -> None:\n"
    path.write_text(head + "".join(f"    {line}\n" for line in MISUSE))
    done = checker(path)
    for number, why in enumerate(MISUSE.values(), 4):
        assert f"misuse.py:{number}:" in done.stdout, f"{why}: {done.stdout}"


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_examples_are_typed(checker: Checker) -> None:
    for path in sorted((ROOT / "examples/python").glob("*.py")):
        done = checker(path)
        assert done.returncode == 0, done.stdout
