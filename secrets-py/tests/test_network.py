"""Tests of the client with proxies, load balancers, redirects and network errors."""

from __future__ import annotations

import json
import logging
import socket
import threading
import traceback
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import secrets_service as package
from conftest import client, name
from secrets_service import Client
from servers import JSON, Host, Proxy, raw

HTML = {"Content-Type": "text/html"}
PAGE = b"<html>kvc_page</html>"
NO_PROJECTS = (200, JSON, b'{"projects": []}')
TOKEN = "kvc_token"


@pytest.mark.parametrize("listed", ["secrets.test", "*", "localhost,.test"])
def test_no_proxy_lists_hosts_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch, host: Host, proxy: Proxy, listed: str
) -> None:
    host.answers = [NO_PROJECTS]
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", listed)
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _, *arguments: resolve("127.0.0.1", *arguments)
    )

    assert Client(f"http://secrets.test:{host.server_port}").project.list() == []

    assert proxy.asked == []


@pytest.mark.parametrize("address", ["localhost", "localhost.", "127.0.0.1", "127.1.2.3", "[::1]"])
def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, proxy: Proxy, address: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy.url)

    assert Client(f"http://{address}:1")._wire.transport._proxy is None
    assert Client(f"http://{address}:1", proxy=proxy.url)._wire.transport._proxy == proxy.url
    assert Client("http://128.0.0.1")._wire.transport._proxy == proxy.url


def test_a_proxy_is_a_parameter(
    monkeypatch: pytest.MonkeyPatch, host: Host, proxy: Proxy
) -> None:
    host.answers = [NO_PROJECTS]
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    given = proxy.url.replace("http://", "http://me%40here:kvc_password@")
    session = Client("http://secrets.test", proxy=given)
    assert session.project.list() == []
    assert Client(host.url, proxy="").project.list() == []

    expected = b64encode(b"me@here:kvc_password").decode()
    sent = {name.lower(): value for name, value in proxy.asked[0][2].items()}
    assert sent["proxy-authorization"] == f"Basic {expected}"
    assert "kvc_" not in repr(session) + repr(vars(session._wire.transport))


def test_a_proxy_that_refuses_is_named(proxy: Proxy) -> None:
    with pytest.raises(package.Unavailable, match=r"407 .*\(through a proxy\)"):
        Client("https://127.0.0.1:1", proxy=proxy.url).project.list()


@pytest.mark.parametrize(
    ("media_type", "body"),
    [("text/html", PAGE), ("text/plain", b"kvc_\xff"), ("", b""), ("application/json", b"")],
)
def test_a_text_of_another_program_is_no_export(host: Host, media_type: str, body: bytes) -> None:
    host.answers = [(200, {"Content-Type": media_type}, body)]

    with pytest.raises(package.InternalError, match="is this the address of the service") as caught:
        Client(host.url).secret.export(project="p", environment="e", format="dotenv")

    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_an_export_of_no_secrets_is_empty(host: Host) -> None:
    host.answers = [(200, {"Content-Type": "text/plain; charset=utf-8"}, b"")]

    found = Client(host.url).secret.export(project="p", environment="e", format="dotenv")

    assert found == ""


def test_an_empty_response_is_an_output_only_without_content(host: Host) -> None:
    host.answers = [(200, JSON, b"")] * 2
    session = Client(host.url)

    session.invitation.resend(team="t", invitation="i")
    with pytest.raises(package.InternalError):
        session.project.create(name="x")


NESTED = b'{"error": ' + b"[" * 100_000


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_response_that_cannot_be_parsed_is_an_error_of_the_package(
    host: Host, status: int
) -> None:
    host.answers = [(status, JSON, NESTED), (status, HTML, PAGE)]
    session = Client(host.url)

    with pytest.raises(package.SecretsError, match="is this the address of the service"):
        session.project.list()
    with pytest.raises(package.SecretsError, match="is this the address of the service"):
        session.device_login.poll(device_code="kvc_code")


def test_a_time_to_wait_of_many_digits_is_ignored(host: Host) -> None:
    host.answers = [(503, HTML | {"Retry-After": "9" * 5000}, PAGE)]

    with pytest.raises(package.Unavailable) as caught:
        Client(host.url).project.list()

    assert caught.value.retry_after is None


@pytest.mark.parametrize("host", ["a" * 64 + ".test", "a..test", ".test"])
def test_a_host_name_that_cannot_be_resolved_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="^url: "):
        Client(f"http://{host}")
    with pytest.raises(ValueError, match="^proxy: "):
        Client("http://secrets.test", proxy=f"http://{host}")


@pytest.mark.parametrize("name", ["timeout", "deadline", "patience"])
@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e10, -1, 10**400])
def test_a_timeout_that_cannot_be_waited_for_is_refused(name: str, seconds: float) -> None:
    limits: Any = {name: seconds}
    with pytest.raises(ValueError, match=f"^{name}: "):
        Client("http://127.0.0.1", **limits)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://", "http://[", "http://x:port"])
def test_a_proxy_that_cannot_be_used_is_refused(proxy: str) -> None:
    with pytest.raises(ValueError, match="^proxy: "):
        Client("http://127.0.0.1", proxy=proxy)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_load_balancer_names_the_time_to_wait(
    host: Host, status: int, waits: list[float]
) -> None:
    host.answers = [(status, HTML | {"Retry-After": "0"}, PAGE), NO_PROJECTS]

    assert Client(host.url).project.list() == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_write_that_a_load_balancer_refused_is_sent_again(
    host: Host, status: int, waits: list[float]
) -> None:
    host.answers = [(status, HTML | {"Retry-After": "0"}, PAGE), (201, JSON, b'{"id": "1"}')]

    assert Client(host.url).project.create(name="x")["id"] == "1"


@pytest.mark.parametrize("status", [502, 504])
def test_a_write_that_a_gateway_may_have_passed_on_is_not_sent_again(
    host: Host, status: int
) -> None:
    host.answers = [(status, HTML | {"Retry-After": "0"}, PAGE)]

    with pytest.raises(package.Unavailable) as caught:
        Client(host.url).project.create(name="x")

    assert len(host.asked) == 1
    assert str(caught.value).startswith(f"{host.url} answered with status {status} ")
    assert (caught.value.status, caught.value.retry_after) == (status, 0)


def test_a_time_to_wait_may_be_a_date(host: Host) -> None:
    later = format_datetime(datetime.now(timezone.utc) + timedelta(hours=1), usegmt=True)
    host.answers = [(503, HTML | {"Retry-After": later}, PAGE)]

    with pytest.raises(package.Unavailable) as caught:
        Client(host.url).project.list()

    assert caught.value.retry_after is not None
    assert 3000 < caught.value.retry_after <= 3601


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_not_followed(host: Host, status: int) -> None:
    location = "https://me:kvc_password@secrets.example.com/api/v1/projects?x=kvc_1"
    host.answers = [(status, HTML | {"Location": location}, PAGE)]

    with pytest.raises(package.InternalError) as caught:
        Client(host.url, token=TOKEN).project.list()

    assert "redirects to https://secrets.example.com (status" in str(caught.value)
    assert "kvc_" not in str(caught.value)
    assert len(host.asked) == 1


@pytest.mark.parametrize("status", [200, 302, 503])
def test_texts_of_a_response_in_an_error_are_plain(status: int) -> None:
    """The byte 0x9b is a control character, too: headers are decoded as Latin-1."""
    head = b"HTTP/1.1 %d \x1b[2J\x9b31m%s\r\n" % (status, b"x" * 5000)
    head += b"X-Request-Id: 1\x1b]0;\x07\r\nLocation: http://\x1bc\x9b.test/\r\n"

    with raw(head + b"Content-Length: 0\r\nConnection: close\r\n\r\n") as (url, _):
        with pytest.raises(package.SecretsError, match=f"status {status}") as caught:
            Client(url).project.list()

    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    assert caught.value.request_id == "1 ]0; "


def test_a_redirect_to_an_invalid_url_is_an_error_of_the_package(host: Host) -> None:
    host.answers = [(302, HTML | {"Location": "http://[secrets.test/"}, PAGE)]

    with pytest.raises(package.InternalError, match="redirects to an invalid URL"):
        Client(host.url).project.list()


def test_texts_of_a_proxy_in_an_error_are_plain() -> None:
    head = b"HTTP/1.1 407 \x1b[2J\x9b31m%s\r\nContent-Length: 0\r\n\r\n" % (b"x" * 5000)

    with raw(head) as (url, _):
        with pytest.raises(package.Unavailable, match=r"407  \[2J 31mx+ \(through") as caught:
            Client("https://127.0.0.1:1", proxy=url).project.list()

    shown = "".join(traceback.format_exception_only(caught.value.__cause__))
    assert (str(caught.value) + shown.rstrip("\n")).isprintable()
    assert max(len(str(caught.value)), len(shown)) < 1100


def test_a_body_is_sent_as_utf_8(host: Host) -> None:
    host.answers = [(201, JSON, b'{"secret": {}}')]

    Client(host.url).secret.create(project="p", environment="e", key="K", value="é" * 1000)

    body = host.asked[0][2]
    assert len(body) < 2100
    assert json.loads(body)["value"] == "é" * 1000


def test_an_import_of_the_largest_values_fits_into_a_request(program: Any) -> None:
    session = client(program, name())
    at = {"project": session.project.create(name="Shop")["slug"], "environment": "staging"}
    value = "kvc_" + "é" * 32766
    secrets: Any = [{"key": f"K{number}", "value": value} for number in range(100)]
    assert len(value.encode()) == 65_536
    # The body is within the limit of the service. With escapes such as \u00e9, it would exceed the
    # limit.
    assert len(json.dumps(secrets, ensure_ascii=False).encode()) < 16 << 20 < len(json.dumps(secrets))

    made = session.secret.import_(**at, secrets=secrets)

    assert made["created"] == 100
    assert session.secret.values(**at) == {f"K{number}": value for number in range(100)}


def test_half_a_character_is_invalid_everywhere(host: Host) -> None:
    session = Client(host.url)
    at = {"project": "p", "environment": "e"}

    with pytest.raises(package.Invalid):
        session.secret.export(project="p", environment="e", format="k8s", name="\ud800")
    with pytest.raises(package.Invalid):
        session.project.get(project="\ud800")
    with pytest.raises(package.Invalid):
        session.secret.create(**at, key="K", value="\ud800")

    assert host.asked == []


def test_a_value_that_is_too_large_is_invalid(program: Any) -> None:
    session = client(program, name())
    slug = session.project.create(name="Shop")["slug"]
    at = {"project": slug, "environment": "staging"}

    for size in (8 << 20, 20 << 20):
        with pytest.raises(package.Invalid):
            session.secret.create(**at, key="LARGE", value="x" * size)


def test_a_response_that_comes_before_the_end_of_the_request_is_read() -> None:
    """The client reads the response although the server sends it and closes the connection while
    the client is still sending the request body."""
    answer = b'{"error": "too large", "code": "invalid_request", "details": {}}'
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(
            b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer)
        )
        connection.shutdown(socket.SHUT_WR)
        # Waits until the client has read the response.
        while connection.recv(65536):
            pass
        connection.close()

    thread = threading.Thread(target=refuse, daemon=True)
    thread.start()
    with pytest.raises(package.Invalid, match="too large") as caught:
        Client(f"http://127.0.0.1:{listener.getsockname()[1]}").project.create(name="x" * 1000000)
    thread.join(30)
    listener.close()

    assert caught.value.status == 413


def test_an_error_has_the_status_and_the_request_id(program: Any) -> None:
    with pytest.raises(package.NotFound) as caught:
        client(program, name()).project.get(project="nothing")

    assert caught.value.status == 404
    assert caught.value.request_id


def refused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_an_error_of_the_network_carries_its_cause(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo

    def resolved(name: Any, *arguments: Any) -> Any:
        if name == "name.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(name, *arguments)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    host.answers = [(None, {}, b"")]
    causes = {
        refused(): "connection refused",
        "http://name.invalid": "name or service not known",
        host.url.replace("http", "https"): "wrong version number",
    }
    for url, cause in causes.items():
        with pytest.raises(package.Unavailable) as caught:
            Client(url, timeout=10).project.list()
        text = str(caught.value).lower()
        assert text.startswith(f"no answer from {url}: ")
        assert cause in text
        assert isinstance(caught.value.__cause__, OSError)

    with pytest.raises(package.Unavailable, match="connection closed without a response"):
        Client(host.url).project.create(name="x")
    host.silent = True
    with pytest.raises(package.Unavailable, match="timed out"):
        Client(host.url, timeout=0.1).project.list()


def test_an_address_of_an_unsupported_family_is_skipped(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.answers = [NO_PROJECTS]
    resolve = socket.getaddrinfo

    def resolved(name: Any, *arguments: Any) -> Any:
        found = resolve(name, *arguments)
        # No family has this number.
        unsupported = (255, *found[0][1:])
        return [unsupported, *found, unsupported]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)

    assert Client(host.url).project.list() == []
    with pytest.raises(package.Unavailable, match="connection refused"):
        Client(refused()).project.list()


def test_an_error_that_the_caller_handles_is_no_cause(tmp_path: Path) -> None:
    url = refused()
    try:
        (tmp_path / "missing").read_text()
    except FileNotFoundError as handled:
        with pytest.raises(package.Unavailable, match="connection refused") as caught:
            Client(url).project.list()
        assert handled.__traceback__ is not None
        assert caught.value.__context__ is handled
    cause = caught.value.__cause__
    assert isinstance(cause, ConnectionRefusedError)
    assert (cause.__context__, cause.__traceback__) == (None, None)


def test_a_token_is_in_no_frame_and_no_log(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    host.answers = [(None, {}, b""), (500, HTML, PAGE)]
    session = Client(host.url, token=TOKEN)
    value, invitation = package.Hidden("kvc_value"), package.Hidden("kvc_invitation")

    absent = Client(refused(), token=TOKEN)
    at = {"project": "p", "environment": "e", "key": "K"}

    calls: list[Callable[[], object]] = [
        lambda: session.secret.create(**at, value=value),
        lambda: session.secret.create(**at, value=value),
        lambda: absent.secret.create(**at, value=value),
        lambda: absent.invitation.look_up(token=invitation),
    ]
    for call in calls:
        with pytest.raises(package.SecretsError) as caught:
            call()
        shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        frames = "".join(shown.format())
        assert "in create" in frames or "in look_up" in frames
        assert "kvc_" not in frames
    with pytest.raises(package.NotFound):
        host.answers = [(404, JSON, b'{"error": "no", "code": "not_found"}')]
        session.invitation.look_up(token="kvc_invitation")

    for kind in [Client, package.AsyncClient]:
        with pytest.raises(ValueError) as refused_token:
            kind(host.url, token=package.Hidden(f"{TOKEN}\n"))
        shown = traceback.TracebackException.from_exception(refused_token.value, capture_locals=True)
        assert "in checked_token" in (frames := "".join(shown.format()))
        assert "kvc_" not in frames
    assert "kvc_" not in repr(vars(session._wire)) + repr(vars(session._wire.transport))
    assert "kvc_" not in caplog.text
