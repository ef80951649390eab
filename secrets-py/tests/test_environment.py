"""Tests of settings from environment variables, and of secrets as environment variables of a
program."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import secrets_service as package
from conftest import client, name
from program import ISSUER, ROOT, jwt
from secrets_service import AsyncClient, Client, _environment, load_env
from servers import JSON, Host


@pytest.fixture
def service(program: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Creates a project with two secrets for a new user. Sets and returns the environment variables
    with the address of the service, a token, the project and the environment."""
    person = name()
    session = client(program, person)
    slug = session.project.create(name="Shop")["slug"]
    for key, value in (("KVC_URL", "kvc_url"), ("KVC_KEY", "kvc_é")):
        session.secret.create(project=slug, environment="staging", key=key, value=value)
    variables = {
        "SECRETS_URL": program.url,
        "SECRETS_TOKEN": jwt(person),
        "SECRETS_PROJECT": slug,
        "SECRETS_ENVIRONMENT": "staging",
    }
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("KVC_URL", raising=False)
    monkeypatch.delenv("KVC_KEY", raising=False)
    return variables


def test_a_client_is_created_from_the_environment(service: dict[str, str]) -> None:
    async def main() -> Any:
        async with AsyncClient.from_env(timeout=20) as session:
            return await session.project.list()

    with Client.from_env(timeout=20) as session:
        assert session.project.list() == asyncio.run(main())


def test_a_token_is_read_from_a_file(
    service: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text(service["SECRETS_TOKEN"] + "\n")
    monkeypatch.setenv("SECRETS_TOKEN_FILE", str(path))

    with pytest.raises(ValueError, match="only one may be set"):
        Client.from_env()
    monkeypatch.delenv("SECRETS_TOKEN")

    assert Client.from_env().project.list()


@pytest.mark.parametrize("content", [b"", b" \n", b"kvc_\xff"])
def test_a_file_without_a_token_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    monkeypatch.setenv("SECRETS_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("SECRETS_TOKEN_FILE", str(path))
    monkeypatch.delenv("SECRETS_TOKEN", raising=False)

    with pytest.raises(ValueError, match="^(SECRETS_TOKEN_FILE: the file is empty|token: must be)") as caught:
        Client.from_env()
    assert "kvc_" not in repr(caught.value)


def test_an_address_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRETS_URL", raising=False)

    with pytest.raises(ValueError, match="SECRETS_URL: is not set"):
        Client.from_env()


def test_secrets_become_variables_that_are_not_set(
    service: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVC_URL", "mine")
    monkeypatch.setenv("KVC_KEY", "")
    monkeypatch.delenv("KVC_KEY")
    at = {"project": service["SECRETS_PROJECT"], "environment": "staging"}

    assert load_env(**at) == {"KVC_KEY": "kvc_é"}
    assert (os.environ["KVC_URL"], os.environ["KVC_KEY"]) == ("mine", "kvc_é")

    with Client.from_env() as session:
        assert load_env(**at, override=True, client=session) == {
            "KVC_KEY": "kvc_é",
            "KVC_URL": "kvc_url",
        }
    assert os.environ["KVC_URL"] == "kvc_url"


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "secrets_service", "run", *arguments],
        capture_output=True, text=True, timeout=60, **options,
    )  # fmt: skip


SHOW = "import os, sys; print(os.environ['KVC_URL'], sys.argv[1:]); sys.exit(7)"


def test_a_program_runs_with_secrets(service: dict[str, str]) -> None:
    done = run("--", sys.executable, "-c", SHOW, "--project", "x y")

    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "kvc_url ['--project', 'x y']\n"


def test_variables_of_the_caller_come_first(service: dict[str, str]) -> None:
    variables = {**os.environ, "KVC_URL": "mine"}
    program = ["--", sys.executable, "-c", SHOW]

    assert run(*program, env=variables).stdout == "mine []\n"
    assert run("--override", *program, env=variables).stdout == "kvc_url []\n"


PRESENT = "import os, sys; print([name in os.environ for name in sys.argv[1:]])"


def test_a_program_does_not_get_the_token(
    service: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = ["SECRETS_TOKEN", "SECRETS_TOKEN_FILE", "SECRETS_URL"]
    program = ["--", sys.executable, "-c", PRESENT, *names]
    path = tmp_path / "token"
    path.write_text(service["SECRETS_TOKEN"])

    assert run(*program).stdout == "[False, False, True]\n"
    assert run("--keep-token", *program).stdout == "[True, False, True]\n"

    monkeypatch.delenv("SECRETS_TOKEN")
    monkeypatch.setenv("SECRETS_TOKEN_FILE", str(path))
    assert run(*program).stdout == "[False, False, True]\n"
    assert run("--keep-token", *program).stdout == "[False, True, True]\n"


@pytest.fixture
def code(service: dict[str, str]) -> None:
    """Adds secrets that would set the variables ``PATH`` and ``LD_KVC``."""
    with Client.from_env() as session:
        for key in ("PATH", "LD_KVC"):
            at = {"project": service["SECRETS_PROJECT"], "environment": "staging"}
            session.secret.create(**at, key=key, value="kvc_code")


def test_a_secret_does_not_decide_which_code_is_executed(code: None) -> None:
    program = ["--", sys.executable, "-c", "print('started')"]

    added, replaced = run(*program), run("--override", *program)

    assert (added.returncode, added.stdout) == (125, "")
    assert added.stderr == (
        "secrets_service: variables of these names decide which code is executed, and are not set "
        "by secrets: LD_KVC; --allow NAME allows one\n"
    )
    assert (replaced.returncode, replaced.stdout) == (125, "")
    assert "by secrets: LD_KVC, PATH; " in replaced.stderr


def test_a_variable_that_decides_which_code_is_executed_can_be_allowed(code: None) -> None:
    show = "import os; print(os.environ['LD_KVC'], os.environ['PATH'])"
    program = ["--", sys.executable, "-c", show]

    one = run("--override", "--allow", "LD_KVC", *program)
    each = run("--override", "--allow", "LD_KVC", "--allow", "PATH", *program)
    both = run("--override", "--allow", "LD_KVC,PATH", *program)

    assert one.returncode == 125
    assert "by secrets: PATH; " in one.stderr
    assert each.stdout == both.stdout == "kvc_code kvc_code\n"


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("run/environment.rs", "CODE_LOADING", _environment.CODE_LOADING),
        ("settings/variables.rs", "TOKEN_VARIABLES", _environment.TOKEN_VARIABLES),
    ],
)
def test_the_command_line_has_the_same_list(
    file: str, name: str, expected: tuple[str, ...]
) -> None:
    text = (ROOT / "secrets-http/src/bin/secrets" / file).read_text()
    declared = re.search(rf"const {name}: \[&str; (\d+)\] = \[(.*?)\];", text, re.DOTALL)
    assert declared
    names = re.findall(r'"([^"]+)"', declared[2])

    assert len(names) == int(declared[1])
    assert tuple(names) == expected


def test_a_message_of_the_server_does_not_control_the_terminal(host: Host) -> None:
    body = b'{"error": "no\\u001b]0;title\\u0007 \\u202eback", "code": "x"}'
    host.answers = [(404, JSON, body)]
    variables = {**os.environ, "SECRETS_URL": host.url, "SECRETS_TOKEN": "kvc_token"}

    done = run("--project", "p", "--environment", "e", "--", sys.executable, env=variables)

    assert (done.returncode, done.stderr) == (1, "secrets_service: no ]0;title   back\n")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_signal_reaches_the_program(service: dict[str, str]) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"

    assert run("--", sys.executable, "-c", code).returncode == -signal.SIGTERM


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_program_has_the_default_signals(service: dict[str, str]) -> None:
    done = run("--", "sh", "-c", "yes | head -1")

    assert (done.stdout, done.stderr) == ("y\n", "")


def test_a_program_that_cannot_run_is_named(service: dict[str, str], tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")

    missing, forbidden = run("--", "no-such-program"), run("--", str(plain))

    assert (missing.returncode, forbidden.returncode) == (127, 126)
    assert missing.stderr == "secrets_service: no-such-program: command not found\n"
    assert "kvc_" not in missing.stderr + forbidden.stderr


def test_an_error_of_the_service_is_the_exit_code(service: dict[str, str]) -> None:
    done = run("--project", "nothing", "--", sys.executable, "-c", SHOW)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("secrets_service: ")


def test_all_pages_are_iterated(session: Any, shop: str) -> None:
    at = {"project": shop, "environment": "staging", "key": "URL"}
    for number in range(7):
        session.secret.update(**at, value=f"kvc_{number}")

    versions = [one["version"] for one in session.secret.iterate_history(**at, limit=3)]
    entries = list(session.audit.iterate(action=["secret.updated"], limit=3))

    assert versions == [7, 6, 5, 4, 3, 2, 1]
    assert len({entry["id"] for entry in entries}) == len(entries) == 7


def test_all_pages_are_iterated_with_asyncio() -> None:
    async def main() -> tuple[int, int]:
        async with await package.AsyncService.open("memory:") as service:
            alice = await service.sign_in(issuer=ISSUER, subject="1", email="a@example.com")
            slug = (await alice.project.create(name="Shop"))["slug"]
            at = {"project": slug, "environment": "staging", "key": "URL"}
            await alice.secret.create(**at, value="kvc_")
            for number in range(5):
                await alice.secret.update(**at, value=f"kvc_{number}")
            versions = [one async for one in alice.secret.iterate_history(**at, limit=2)]
            updates = alice.audit.iterate(action=["secret.updated"], limit=2)
            assert (await alice.secret.values(project=slug, environment="staging")) == {
                "URL": "kvc_4"
            }
            return len(versions), len([one async for one in updates])

    assert asyncio.run(main()) == (5, 5)


def test_an_environment_is_a_mapping(session: Any, shop: str) -> None:
    values = session.secret.values(project=shop, environment="staging")

    assert values == {"URL": "kvc_url"}
    assert repr(values) == "{'URL': <hidden>}"
