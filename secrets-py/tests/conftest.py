"""Shared fixtures: an embedded service, and a server process."""

from __future__ import annotations

import importlib.util
import os
import secrets
import ssl
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from secrets_service import Client, Service, Session, _client
from servers import Host, Proxy

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
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that a client would have waited before its retries. It does not wait."""
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
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """Self-signed certificate of 127.0.0.1, and the context of its server."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    now = datetime.now(timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return path, context


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
