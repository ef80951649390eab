"""Tests that run the code in the README and in docstrings unchanged."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import secrets_service
from conftest import client, name
from program import ROOT, jwt
from secrets_service import Service, _bundle, _client, _hidden, _offline, _operations, _service

README = (ROOT / "secrets-py/README.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) == 5


def test_the_readme_has_no_relative_link() -> None:
    """The README is also the page of the package on PyPI, where relative links would lead
    nowhere."""
    assert re.findall(r"\]\((?!https://)", README) == []


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_a_snippet_of_the_readme_runs(number: int, tmp_path: Path, program: Any) -> None:
    person = name()
    client(program, person).close()
    environment = {**os.environ, "SECRETS_URL": program.url, "SECRETS_TOKEN": jwt(person)}

    done = subprocess.run(
        [sys.executable, "-c", SNIPPETS[number]],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_the_first_snippet_prints_the_shown_output(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SNIPPETS[0]], cwd=tmp_path, capture_output=True, text=True
    )

    first, second = done.stdout.splitlines()
    assert "'value': <hidden>" in first
    assert second == "kvc_1"


@pytest.mark.parametrize("module", [_hidden, _offline, _bundle, _service, _client], ids=str)
def test_examples_in_the_documentation_run(module: ModuleType) -> None:
    names = {one: getattr(secrets_service, one) for one in secrets_service.__all__}
    assert doctest.testmod(module, extraglobs=names).failed == 0


def methods() -> list[Any]:
    found = []
    for kind in vars(_operations).values():
        if isinstance(kind, type) and kind.__module__ == _operations.__name__:
            found += [one for one in vars(kind).values() if ">>>" in (getattr(one, "__doc__", "") or "")]
    return found


@pytest.mark.parametrize("method", methods(), ids=lambda one: one.__qualname__)
def test_examples_of_operations_run(method: Any) -> None:
    with Service.open("memory:") as service:
        session = service.sign_in(issuer="here", subject="1", email="a@example.com")
        session.project.create(name="Shop")
        session.secret.create(
            project="shop", environment="staging", key="URL", value="https://shop.example.com"
        )
        test = doctest.DocTestFinder(recurse=False).find(
            method, method.__qualname__, globs={"session": session}
        )
        runner = doctest.DocTestRunner()
        for one in test:
            runner.run(one)
        assert runner.tries > 0
        assert runner.failures == 0
