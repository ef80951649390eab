"""Tests of the client with a proxy, a load balancer, a slow server and the service, each in a
separate process."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import secrets_service as package
from certificates import Authority
from conftest import name
from processes import Process
from program import Program, jwt
from secrets_service import AsyncClient, Client

KINDS = [Client, AsyncClient]
READERS = 8


class Stored(NamedTuple):
    """Stored secrets of a new user: a token that can read them, and their project and environment.
    The value of the key ``K1`` is ``kvc_K1``."""

    token: str
    at: dict[str, str]


def store(url: str, context: ssl.SSLContext | None = None) -> Stored:
    """Creates a user and a project with one secret for each of the concurrent readers."""
    token = jwt(name())
    with Client(url, token=token, context=context) as session:
        session.user.sync()
        slug = session.project.create(name="Shop")["slug"]
        at = {"project": slug, "environment": "staging"}
        secrets: Any = [{"key": f"K{one}", "value": f"kvc_K{one}"} for one in range(READERS)]
        session.secret.import_(**at, secrets=secrets)
    return Stored(token, at)


@contextmanager
def reading(kind: type[Client] | type[AsyncClient], url: str, token: str, **options: Any) -> Iterator[Any]:
    """Yields a function that reads the value of a secret with a new client of this class. For an
    asyncio client, the function waits for the result."""
    session = kind(url, token=token, **options)
    loop = asyncio.new_event_loop()

    def read(at: dict[str, str], key: str = "K1") -> str:
        found: Any = session.secret.get(**at, key=key)
        return (loop.run_until_complete(found) if kind is AsyncClient else found)["value"]

    try:
        yield read
    finally:
        ended: Any = session.close()
        if kind is AsyncClient:
            loop.run_until_complete(ended)
        loop.close()


@pytest.fixture(scope="module")
def stored(program: Any) -> Stored:
    return store(program.url)


PROXIES = [{}, {"HTTP_PROXY": "{}"}, {"HTTP_PROXY": "", "http_proxy": "{}"}]


@pytest.mark.parametrize("variables", PROXIES, ids=["parameter", "upper", "lower"])
def test_a_proxy_forwards_to_the_service(
    program: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    with Process("gateway", program.url) as proxy:
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value.format(proxy.url))
        given = None if variables else proxy.url
        with reading(Client, "http://secrets.test", stored.token, proxy=given) as read:
            assert read(stored.at) == "kvc_K1"
        [(method, target, _)] = proxy.end()

    path = "/api/v1/projects/{project}/environments/{environment}/secrets/K1".format(**stored.at)
    assert (method, target) == ("GET", f"http://secrets.test{path}")


@pytest.fixture(scope="module")
def secure(authority: Authority) -> Iterator[Any]:
    """Starts a service with TLS and a certificate of the test authority, and stores secrets in the
    service. Yields the service and the stored secrets."""
    files = {"SECRETS_TLS_CERT": authority.certificate, "SECRETS_TLS_KEY": authority.key}
    with Program(**files) as service:
        yield service, store(service.url, authority.trusted())


@pytest.mark.parametrize("variable", ["", "HTTPS_PROXY"], ids=["parameter", "variable"])
def test_a_proxy_tunnels_to_a_service_with_tls(
    secure: Any, authority: Authority, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    service, stored = secure
    options: dict[str, Any] = {"context": authority.trusted()}
    with Process("gateway", service.url) as proxy:
        if variable:
            monkeypatch.setenv(variable, proxy.url)
        else:
            options["proxy"] = proxy.url
        with reading(Client, "https://secrets.test", stored.token, **options) as read:
            assert [read(stored.at, key) for key in ("K1", "K2")] == ["kvc_K1", "kvc_K2"]
        requests = proxy.end()

    # One tunnel, and the token is not sent to the proxy.
    assert [request[:2] for request in requests] == [("CONNECT", "secrets.test:443")]
    assert stored.token not in str(requests)


@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_of_a_private_authority_is_trusted(
    secure: Any, authority: Authority, kind: Any
) -> None:
    service, stored = secure
    context = authority.trusted()

    with reading(kind, service.url, stored.token, context=context) as read:
        assert read(stored.at) == "kvc_K1"

    other = service.url.replace("127.0.0.1", "localhost")
    causes = {
        (service.url, None): "unable to get local issuer certificate",
        (other, context): "Hostname mismatch",
    }
    for (url, given), cause in causes.items():
        expected = f"certificate of {url} not trusted: {cause}"
        with reading(kind, url, stored.token, context=given) as read:
            with pytest.raises(package.Unavailable, match=expected) as caught:
                read(stored.at)
        assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)


@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_names_the_private_authority(
    secure: Any, authority: Authority, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    service, stored = secure
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))

    with reading(kind, service.url, stored.token) as read:
        assert read(stored.at) == "kvc_K1"


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_waits_for_a_load_balancer(program: Any, stored: Stored, kind: Any) -> None:
    with Process("gateway", program.url, 502, 503) as balancer:
        began = time.monotonic()
        with reading(kind, balancer.url, stored.token) as read:
            assert read(stored.at) == "kvc_K1"
        took = time.monotonic() - began
        requests = balancer.end()

    # The Retry-After header of both pages is 1 s.
    assert took >= 2
    assert [request[0] for request in requests] == ["GET"] * 3


def test_a_write_waits_for_a_load_balancer_that_refused_it(program: Any, stored: Stored) -> None:
    with Process("gateway", program.url, 503) as balancer:
        with Client(balancer.url, token=stored.token) as session:
            secret = session.secret.create(**stored.at, key="WRITTEN", value="kvc_written")
        requests = balancer.end()

    assert (secret["key"], secret["version"]) == ("WRITTEN", 1)
    assert [request[0] for request in requests] == ["POST", "POST"]


def test_a_write_that_a_load_balancer_may_have_forwarded_is_not_sent_again(
    program: Any, stored: Stored
) -> None:
    with Process("gateway", program.url, 502) as balancer:
        with Client(balancer.url, token=stored.token) as session:
            with pytest.raises(package.Unavailable) as caught:
                session.secret.create(**stored.at, key="NOT_WRITTEN", value="kvc_not_written")
        requests = balancer.end()

    assert str(caught.value) == f"{balancer.url} answered with status 502 Bad Gateway"
    assert (caught.value.status, caught.value.retry_after) == (502, 1)
    assert [request[0] for request in requests] == ["POST"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["headers", "body"])
@pytest.mark.parametrize(
    ("pause", "limits", "expected"),
    [
        (0.1, {"timeout": 20, "deadline": 1}, "the deadline of 1 s has passed"),
        (20, {"timeout": 0.5, "deadline": 20}, "timed out"),
    ],
    ids=["deadline", "timeout"],
)
def test_a_response_that_drips_ends(
    kind: Any, part: str, pause: float, limits: dict[str, float], expected: str
) -> None:
    with Process("drip", part, pause) as server:
        began = time.monotonic()
        with reading(kind, server.url, "t", **limits) as read:
            with pytest.raises(package.Unavailable, match=expected):
                read({"project": "p", "environment": "e"})

        assert time.monotonic() - began < 10
        assert len(server.end()) == 1


def free_port() -> int:
    """Returns a free port outside of the range that the system uses for outgoing connections, so
    that a restarted program can listen on the same port again."""
    for port in random.sample(range(20_000, 30_000), 100):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("no free port")


class Readers:
    """Threads (for :class:`Client`) or asyncio tasks (for :class:`AsyncClient`) that share a
    client. Each reads its own secret in a loop until the readers are stopped. ``outcomes`` counts
    the results."""

    def __init__(self, kind: Any, url: str, stored: Stored) -> None:
        self._kind, self._url, self._stored = kind, url, stored
        self._lock, self._is_stopped = threading.Lock(), False
        self.outcomes: Counter[str] = Counter()

    def wait(self, outcome: str, times: int = 20) -> None:
        """Waits until this many more reads have had an outcome such as ``right`` or
        ``unavailable``, for at most 30 seconds."""
        deadline, enough = time.monotonic() + 30, self.outcomes[outcome] + times
        while self.outcomes[outcome] < enough:
            assert time.monotonic() < deadline, self.outcomes
            time.sleep(0.01)

    def _count(self, key: str, read: Callable[[], Any]) -> None:
        try:
            outcome = "right" if read()["value"] == f"kvc_{key}" else "wrong"
        except package.Unavailable:
            outcome = "unavailable"
        except Exception as error:
            outcome = repr(error)
        with self._lock:
            self.outcomes[outcome] += 1

    def _thread(self, session: Client, key: str) -> None:
        while not self._is_stopped:
            self._count(key, lambda: session.secret.get(**self._stored.at, key=key))
            time.sleep(0.005)

    async def _task(self, session: AsyncClient, key: str) -> None:
        while not self._is_stopped:
            call = asyncio.ensure_future(session.secret.get(**self._stored.at, key=key))
            await asyncio.wait([call])
            self._count(key, call.result)
            await asyncio.sleep(0.005)

    async def _tasks(self) -> None:
        async with AsyncClient(self._url, token=self._stored.token) as session:
            await asyncio.gather(*(self._task(session, f"K{one}") for one in range(READERS)))

    def __enter__(self) -> Readers:
        if self._kind is AsyncClient:
            self._threads = [threading.Thread(target=asyncio.run, args=(self._tasks(),))]
        else:
            session = Client(self._url, token=self._stored.token)
            calls = [(session, f"K{one}") for one in range(READERS)]
            self._threads = [threading.Thread(target=self._thread, args=call) for call in calls]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopped = True
        for thread in self._threads:
            thread.join(60)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_outlives_a_service_that_is_killed(tmp_path: Path, kind: Any) -> None:
    settings = {
        "SECRETS_LISTEN": f"127.0.0.1:{free_port()}",
        "SECRETS_DATABASE_URL": f"sqlite://{tmp_path}/secrets.db",
    }
    service = Program(**settings)
    try:
        stored = store(service.url)
        with reading(kind, service.url, stored.token) as read:
            with Readers(kind, service.url, stored) as readers:
                for _ in range(3):
                    assert read(stored.at) == "kvc_K1"
                    readers.wait("right")
                    service.kill()
                    with pytest.raises(package.Unavailable, match="connection refused"):
                        read(stored.at)
                    readers.wait("unavailable")
                    service = Program(**settings)
                    # The client has an open connection to the killed program, and the read
                    # succeeds.
                    assert read(stored.at) == "kvc_K1"
                    readers.wait("right")
    finally:
        service.__exit__()

    assert set(readers.outcomes) == {"right", "unavailable"}
