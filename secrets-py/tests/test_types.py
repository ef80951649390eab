"""Tests that the generated modules match the OpenAPI document and pass the type checkers."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import indent

import pytest
from program import ROOT, TARGET

PACKAGE = ROOT / "secrets-py/python/secrets_service"
PYRIGHT = ROOT / "tests/pyright/node_modules/.bin/pyright"

USE = """
import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, assert_type
from secrets_service import (
    UNSET, AsyncClient, AsyncService, AsyncSession, Bundle, BundledSecret, BundleError, Client, Hidden, Invalid,
    RateLimited, SecretsError, Service, Session, Sighting, load_env, new_key_pair, open_bundle, parse, render, scan,
    types,
)

SINCE = datetime.now(timezone.utc) - timedelta(days=1)

def both(session: Session | Client) -> None:
    secret = session.secret.get(project="shop", environment="staging", key="URL")
    assert_type(secret["value"], Hidden)
    assert_type(secret.get("description"), str | None)
    assert_type(session.secret.export(project="p", environment="e", format="json"), Hidden)
    listed = session.secret.export(project="p", environment="e")
    assert_type(listed, list[types.SecretWithValueAndInheritance])
    assert_type(session.secret.values(project="p", environment="e"), dict[str, Hidden])
    assert_type(session.token.create(name="t", expires_at=SINCE)["token"], Hidden)
    assert_type(session.project.list(), list[types.Project])
    session.environment.update(project="p", environment="e", inherits_from=None)
    session.environment.update(project="p", environment="e", inherits_from=UNSET)
    assert_type(session.audit.list(from_=SINCE, order="asc")["logs"], list[types.AuditEntry])
    assert_type(session.audit.iterate(from_=SINCE, action=["secret.*"]), Iterator[types.AuditEntry])
    for version in session.secret.iterate_history(project="p", environment="e", key="K"):
        assert_type(version["version"], int)
    caller = session.user.me()
    assert_type(caller, types.User | types.TokenSelf)
    if caller["auth_type"] == "user":
        assert_type(caller, types.User)
    else:
        assert_type(caller, types.TokenSelf)
    os.environ.update(session.secret.values(project="p", environment="e"))
    session.secret.delete(project="p", environment="e", key="K", expected_version=3)

async def awaited(session: AsyncSession | AsyncClient) -> None:
    project = await session.project.create(name="Shop")
    assert_type(project["slug"], str)
    assert_type(await session.secret.values(project="p", environment="e"), dict[str, Hidden])
    assert_type(session.audit.iterate(), AsyncIterator[types.AuditEntry])
    async for entry in session.audit.iterate():
        assert_type(entry["action"], str)
    await asyncio.gather(session.project.list(), session.team.list())

async def opened() -> None:
    async with await AsyncService.open("memory:") as service:
        await awaited(await service.sign_in(issuer="here", subject="1", email="a@example.com"))
    async with AsyncClient.from_env(patience=5) as client:
        await awaited(client)

def failed(client: Client) -> str:
    try:
        client.project.delete(project="p")
    except RateLimited as error:
        assert_type(error.retry_after, int | None)
    except Invalid as error:
        assert_type(error.fields, list[dict[str, Any]])
    except SecretsError as error:
        assert_type(error.status, int | None)
        assert_type(error.request_id, str | None)
        assert_type(error.kind, str)
        return error.code
    return ""

def offline(path: os.PathLike[str]) -> None:
    try:
        with open_bundle(path, passphrase="p", now=SINCE, at_least=3) as bundle:
            assert_type(bundle, Bundle)
            assert_type([secret for secret in bundle], list[BundledSecret])
            assert_type(bundle.values(), dict[str, Hidden])
            assert_type(bundle.expires_at, str | None)
            assert_type(bundle.seq + 1, int)
    except BundleError as error:
        print(error)
    assert_type(open_bundle(b"", key="k", now=1.5), Bundle)
    private, public = new_key_pair()
    assert_type(private, Hidden)
    assert_type(public, str)
    assert_type(render(parse("A=1", "dotenv"), "yaml"), Hidden)
    assert_type(scan("text"), list[Sighting])

with Service.open("memory:") as service:
    both(service.sign_in(issuer="here", subject="1", email="a@example.com"))
both(Client("https://secrets.example.com", token="env_"))
with Client.from_env(timeout=1.5, proxy="") as client:
    assert_type(client, Client)
    assert_type(load_env(project="p", environment="e", override=True, client=client), dict[str, Hidden])
"""

# Python statements for an asynchronous function, each with one mistake, and the name of the
# mistake.
MISUSE = {
    "session.secret.get(project='p', environment='e')": "missing",
    "session.secret.get('p', 'e', 'K')": "positional",
    "session.secret.get(project='p', environment='e', key='K')['valeu']": "a field",
    "session.secret.create(project='p', environment='e', key='K', valeu='v')": "a name",
    "session.project.create(name=1)": "a type",
    "session.secret.export(project='p', environment='e', format='toml')": "a format",
    "session.secrets.get": "a noun",
    "session.secret.fetch(project='p', environment='e', key='K')": "a verb",
    "session.secret.get(project='p', environment='e', key=None)": "None",
    "session.secret.update(project='p', environment='e', key='K', value=None)['value']": "no value",
    "session.environment.update(project='p', environment='e', inherits_from=3)": "not UNSET",
    "session.audit.list(from_=1700000000)": "a number as a time",
    "session.audit.list(to=date(2030, 1, 1))": "a date as a time",
    "session.token.create(name='t', expires_at=timedelta(days=1))": "a duration as a time",
    "session.audit.list(order='newest')": "an order",
    "session.secret.export(project='p', environment='e').items()": "a list as a dict",
    "session.secret.export(project='p', environment='e', format='json')[0]['key']": "a text as a list",
    "session.secret.values(project='p', environment='e')[0]": "a dict as a list",
    "session.project.list()['projects']": "the envelope of HTTP",
    "session.audit.list()[0]": "a page as a list",
    "next(session.audit.iterate())['actoin']": "a field of an item",
    "session.project.delete(project='p')['id']": "a result that is None",
    "session.secret.bundle(project='p', environment='e', recipients=[{'type': 'password'}])": "a recipient",
    "session.secret.import_(project='p', environment='e', secrets={'K': 'v'})": "a dict of secrets",
    "remote.project.list()": "a call without await",
    "(await remote.project.list())['projects']": "the envelope, with await",
    "[entry for entry in remote.audit.iterate()]": "an asynchronous iterator",
    "with remote: pass": "an asynchronous context manager",
    "Client('https://secrets.example.com', 'env_')": "a positional token",
    "Client('https://secrets.example.com', token=b'env_')": "a token of bytes",
    "Client('https://secrets.example.com', timeout='5')": "a timeout",
    "Client.from_env(token='env_')": "a token beside the environment",
    "load_env(project='p')": "no environment",
    "load_env(project='p', environment='e', client=remote)": "an asynchronous client",
    "Service.open('memory:', root_key=5)": "a root key",
    "Service.open()": "no database",
    "open_bundle('b', passphrase=b'p')": "a passphrase of bytes",
    "open_bundle('b', key='k', now='2030-01-01')": "a text as a time",
    "open_bundle('b', key='k')['K']": "a bundle as a dict",
    "open_bundle('b', key='k').values().get('K').upper()": "a secret that may be missing",
    "parse('A: 1', 'yml')": "a format of a text",
    "SecretsError('m').status + 1": "a status that may be None",
    "SecretsError('m').staus": "an attribute of an error",
    "SecretsError('m').retry_after": "an attribute of another error",
}

# Declarations of the names in these statements.
MISUSE_HEAD = """\
from datetime import date, timedelta
from secrets_service import AsyncClient, Client, SecretsError, Service, Session, load_env, open_bundle, parse

async def f(session: Session, remote: AsyncClient) -> None:
"""


def run(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    # Pyright verifies the types of packages of the first Python in the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Each process that runs tests has its own cache.
    cache = TARGET / "test/mypy" / os.environ.get("PYTEST_XDIST_WORKER", "")
    environment = {**os.environ, "MYPY_CACHE_DIR": str(cache), "PATH": path}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_classes_have_all_operations_of_the_interface(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("file", ["_operations.py", "_async_operations.py", "types.py"])
def test_generated_docstrings_have_short_lines(file: str) -> None:
    text = (PACKAGE / file).read_text()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [
        ast.get_docstring(node, clean=False) for node in ast.walk(ast.parse(text)) if isinstance(node, documented)
    ]  # fmt: skip
    lines = [line for docstring in docstrings for line in (docstring or "").splitlines()]
    assert lines
    assert [line for line in lines if len(line) > 100] == []


def test_the_stubs_match_the_module() -> None:
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
    # Also fails if a type is only inferred, because type checkers infer types differently.
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("checker", CHECKERS)
def test_correct_use_passes_the_type_checker(checker: Checker, tmp_path: Path) -> None:
    path = tmp_path / "use.py"
    path.write_text(USE)
    done = checker(path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("checker", CHECKERS)
def test_wrong_use_fails_the_type_checker(checker: Checker, tmp_path: Path) -> None:
    path = tmp_path / "misuse.py"
    path.write_text(MISUSE_HEAD + "".join(f"    {line}\n" for line in MISUSE))
    done = checker(path)
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    first = MISUSE_HEAD.count("\n") + 1
    silent = [
        why for number, why in enumerate(MISUSE.values(), first)
        if not any(f"misuse.py:{number}:" in error for error in errors)
    ]  # fmt: skip
    assert silent == [], done.stdout


def blocks(path: Path) -> Iterator[str]:
    """Yields the Python code blocks of a document. A block with notebook cells is put into an
    ``async`` function, because the cells use ``await`` at the top level."""
    for block in re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
        is_notebook = block.startswith("# %%")
        yield "async def cells():\n" + indent(block, "    ") if is_notebook else block


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_blocks_of_the_documents_are_typed(checker: Checker, tmp_path: Path) -> None:
    recipes = PACKAGE / "RECIPES.md"
    # mypy would analyse FastAPI and pydantic for many seconds.
    documents = [PACKAGE.parents[1] / "README.md", *([recipes] if checker is pyright else [])]
    for document in documents:
        for number, block in enumerate(blocks(document)):
            # pydantic-settings reads the arguments of the constructor from the environment.
            block = block.replace("settings = Settings()", "settings = Settings()  # type: ignore[call-arg]")
            # The functions of short examples have no annotations.
            head = "# mypy: allow-untyped-defs, allow-untyped-calls\n"
            (tmp_path / f"{document.stem.lower()}_{number}.py").write_text(head + block)
    done = checker(tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_examples_are_typed(checker: Checker) -> None:
    done = checker(ROOT / "examples/python")
    assert done.returncode == 0, done.stdout
