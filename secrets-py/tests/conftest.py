"""Fixtures that several test modules use, such as an embedded service and a server process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from typing import Any

import certificates
import pytest
from program import ISSUER, Program, jwt
from secrets_service import Client, Service, Session, _client
from servers import Host, Proxy


@pytest.fixture(scope="session")
def program() -> Iterator[Program]:
    with Program() as service:
        yield service


@pytest.fixture(scope="session")
def both() -> Iterator[Program]:
    """Starts a service with ``SECRETS_ENVELOPE=both``: a response has its output in the named
    field, such as `secret`, and again in the field `data`."""
    with Program(SECRETS_ENVELOPE="both") as service:
        yield service


@pytest.fixture(autouse=True, scope="session")
def no_proxy() -> None:
    """Removes the environment variables that set a proxy, because a proxy on another machine cannot
    reach the test servers."""
    for variable in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        os.environ.pop(variable, None)
        os.environ.pop(variable.upper(), None)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Records the times that the client would wait before retries, in seconds. The client does not
    really wait."""
    seconds: list[float] = []
    monkeypatch.setattr(_client, "sleep", seconds.append)
    return seconds


@pytest.fixture
def host() -> Iterator[Host]:
    with Host() as server:
        yield server


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy() as server:
        yield server


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> certificates.Authority:
    return certificates.create(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def embedded() -> Iterator[Service]:
    with Service.open("memory:") as service:
        yield service


def name() -> str:
    """Returns a unique name for a new user."""
    return f"person-{secrets.token_hex(4)}"


def sign_in(service: Service, person: str) -> Session:
    return service.sign_in(issuer=ISSUER, subject=person, email=f"{person}@example.com")


def client(program: Any, person: str) -> Client:
    made = Client(program.url, token=jwt(person))
    made.user.sync()
    return made


@pytest.fixture(params=["embedded", "client"])
def session(request: pytest.FixtureRequest) -> Session | Client:
    """Session of a new user. Each test runs twice: with the embedded service, and over HTTP."""
    if request.param == "embedded":
        return sign_in(request.getfixturevalue("embedded"), name())
    return client(request.getfixturevalue("program"), name())


@pytest.fixture
def shop(session: Session | Client) -> str:
    """Slug of a project with the secret ``URL`` in its environment ``staging``."""
    slug = session.project.create(name="Shop")["slug"]
    session.secret.create(project=slug, environment="staging", key="URL", value="kvc_url")
    return slug
