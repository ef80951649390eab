"""Tests that run the Python examples of the repository unchanged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from conftest import client, name
from processes import Process
from program import ROOT, TARGET, jwt
from servers import JSON, Host, raw

FOLDER = ROOT / "examples/python"


def run(name: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / name, *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_secret_is_kept_in_a_file() -> None:
    assert run("embed.py") == "DATABASE_URL = postgres://db\n"


def test_a_rotation_is_waited_for_and_logged_in_with() -> None:
    url = os.environ["SECRETS_TEST_TARGET_POSTGRES_URL"]

    said = run("rotate_and_wait.py", DATABASE_URL=url).splitlines()

    assert said[0].startswith("rotated: MAIN_DB_")
    assert said[1].startswith("rotated again: success")
    assert re.fullmatch(r"logged in as \w+", said[2])


def test_the_overhead_is_printed() -> None:
    said = run("overhead.py", str(TARGET / "debug/examples/read_overhead"), "3")

    assert len(re.findall(r"Python [\d.]+ µs, asyncio [\d.]+ µs, Rust [\d.]+ µs", said)) == 2


def test_the_time_to_open_a_bundle_is_printed() -> None:
    said = run("bundle_open.py", "5")

    assert "1,000 secrets: opened in" in said


def test_clients_are_compared() -> None:
    said = run("client_speed.py", "200", str(TARGET / "debug/secrets-http"))

    names = [line.split()[:2] for line in said.splitlines()[1:]]
    assert names == [["requests", "200"], ["httpx", "200"], ["secrets_service", "200"]]


def test_clients_are_compared_with_a_given_service(program: Any) -> None:
    person = name()
    with client(program, person) as session:
        said = run("client_speed.py", "20", SECRETS_URL=program.url, SECRETS_TOKEN=jwt(person))
        assert session.project.list() == []

    assert "secrets_service" in said


def test_the_audit_log_is_followed_across_pages_and_runs(program: Any, tmp_path: Path) -> None:
    person = name()
    with client(program, person) as session, Process("gateway", program.url, 200, 429, 503) as gateway:
        slug = session.project.create(name="Shop")["slug"]
        at = {"project": slug, "environment": "staging"}
        session.secret.create(**at, key="URL", value="kvc_url")
        state = str(tmp_path / "state.json")

        def follow() -> list[str]:
            variables = {"SECRETS_URL": gateway.url, "SECRETS_TOKEN": jwt(person)}
            lines = run("follow_audit.py", state, "--once", **variables).splitlines()
            return [json.loads(line)["id"] for line in lines]

        def read(times: int) -> None:
            for _ in range(times):
                session.secret.get(**at, key="URL")

        # More than two pages of 200 entries. The client requests the second page three times.
        read(410)
        first = follow()
        read(10)
        second = follow()
        read(210)
        third = follow()
        expected = [entry["id"] for entry in session.audit.iterate(order="asc")]
        requests = gateway.end()

    assert first + second + third == expected
    assert len(set(expected)) == len(expected) > 630
    assert (len(second), len(third)) == (10, 210)
    # The gateway refused the second page of the first run twice, and then forwarded the request.
    assert "cursor=" in requests[1][1]
    assert requests[1][1] == requests[2][1] == requests[3][1] != requests[4][1]


def test_the_audit_log_is_not_requested_again_at_once(host: Host, tmp_path: Path) -> None:
    host.answers = [(503, {"Retry-After": "0"}, b"")] * 3 + [(200, JSON, b'{"logs": []}')]
    variables = {"SECRETS_URL": host.url, "SECRETS_TOKEN": "t"}
    began = time.monotonic()

    assert run("follow_audit.py", str(tmp_path / "state.json"), "--once", **variables) == ""

    assert len(host.asked) == 4
    assert time.monotonic() - began >= 3


def test_a_response_of_the_audit_log_that_ends_early_is_reported(tmp_path: Path) -> None:
    with raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{") as (url, _):
        done = subprocess.run(
            [sys.executable, FOLDER / "follow_audit.py", tmp_path / "state.json", "--once"],
            env={**os.environ, "SECRETS_URL": url, "SECRETS_TOKEN": "t"},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("IncompleteRead(")
