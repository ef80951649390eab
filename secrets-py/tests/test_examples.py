"""The examples, run unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from conftest import client, name
from program import ROOT, TARGET, jwt

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


def test_the_overhead_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    said = run("overhead.py", "0.5", str(TARGET / "debug/examples/read_overhead"))

    assert len(re.findall(r"Python [\d.]+ µs, Rust [\d.]+ µs", said)) == 2
    with capsys.disabled():
        print(f"\n{said}", end="")


def test_opening_a_bundle_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    said = run("bundle_open.py", "5")

    assert "1,000 secrets: opened in" in said
    with capsys.disabled():
        print(f"\n{said}", end="")


def test_clients_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    said = run("client_speed.py", "200", str(TARGET / "debug/secrets-http"))

    names = [line.split()[:2] for line in said.splitlines()[1:]]
    assert names == [["requests", "200"], ["httpx", "200"], ["secrets_service", "200"]]
    with capsys.disabled():
        print(f"\n{said}", end="")


def test_clients_are_compared_with_a_given_service(program: Any) -> None:
    person = name()
    with client(program, person) as session:
        said = run("client_speed.py", "20", SECRETS_URL=program.url, SECRETS_TOKEN=jwt(person))
        assert session.project.list() == []

    assert "secrets_service" in said
