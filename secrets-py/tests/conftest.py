"""Shared fixtures: an embedded service, and a server process."""

from __future__ import annotations

import importlib.util
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from secrets_service import Client, Service, Session
from servers import Host

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ISSUER = "https://issuer.test"


def load(name: str, path: Path) -> ModuleType:
    """Loads a module that is not in a package."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


running = load("running", ROOT / "tests/interface/service.py")


@pytest.fixture(scope="session")
def program() -> Iterator[Any]:
    """Server process with a database in memory. Its log is kept for the test runner."""
    logs = Path(os.environ.get("SECRETS_TEST_LOGS", TARGET / "test/logs"))
    logs.mkdir(parents=True, exist_ok=True)
    with running.Service(TARGET / "debug/secrets-http", logs / "python.log") as service:
        yield service


@pytest.fixture(autouse=True, scope="session")
def no_proxy() -> None:
    """A proxy of the machine does not reach the servers of the tests."""
    for variable in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        os.environ.pop(variable, None)
        os.environ.pop(variable.upper(), None)


@pytest.fixture
def host() -> Iterator[Host]:
    with Host() as server:
        yield server


@pytest.fixture(scope="session")
def embedded() -> Iterator[Service]:
    with Service.open("memory:") as service:
        yield service


def name() -> str:
    """Unique name of a new user."""
    return f"person-{secrets.token_hex(4)}"


def sign_in(service: Service, person: str) -> Session:
    return service.sign_in(issuer=ISSUER, subject=person, email=f"{person}@example.com")


def client(program: Any, person: str) -> Client:
    made = Client(program.url, token=running.jwt(person))
    made.user.sync()
    return made


@pytest.fixture(params=["embedded", "client"])
def session(request: pytest.FixtureRequest) -> Session | Client:
    """Session of a new user, embedded and over HTTP."""
    if request.param == "embedded":
        return sign_in(request.getfixturevalue("embedded"), name())
    return client(request.getfixturevalue("program"), name())


@pytest.fixture
def shop(session: Session | Client) -> str:
    """Project with one secret."""
    slug = session.project.create(name="Shop")["slug"]
    session.secret.create(project=slug, environment="staging", key="URL", value="kvc_url")
    return slug
