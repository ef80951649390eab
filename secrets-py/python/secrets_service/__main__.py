"""Command line: runs a program with the secrets of an environment as environment variables."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from ._client import Client
from ._environment import code_loading, inherited, missing
from ._errors import SecretsError
from ._plain import MAX_NAME, plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command ``python -m secrets_service`` and returns its exit code. On Unix, the
    program that ``run`` starts replaces this process, so the function returns only after an
    error."""
    given = parsed(arguments)
    try:
        with Client.from_env() as client:
            values = client.secret.values(project=given.project, environment=given.environment)
    except (SecretsError, ValueError, OSError) as error:
        print(f"secrets_service: {error}", file=sys.stderr)
        return 1
    variables = inherited(os.environ, given.keep_token)
    chosen = missing(values, variables, given.override)
    allowed = [name for names in given.allow for name in names.split(",")]
    if refused := code_loading(chosen, allowed):
        print(
            "secrets_service: variables of these names decide which code is executed, and are not "
            f"set by secrets: {', '.join(plain(name, MAX_NAME) for name in refused)}; "
            "--allow NAME allows one",
            file=sys.stderr,
        )
        return 125
    return replaced(given.program, {**variables, **chosen})


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the arguments of the command. Ends this process if they are invalid."""
    parser = argparse.ArgumentParser(prog="python -m secrets_service")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run",
        help="run a program with secrets as environment variables",
        description="Runs a program with the secrets of an environment as environment variables. "
        "The service is set by SECRETS_URL, and SECRETS_TOKEN or SECRETS_TOKEN_FILE. The exit code "
        "is 125 if a secret would set a variable that determines which code is executed, such as "
        "PATH.",
    )
    for name in ("project", "environment"):
        variable = f"SECRETS_{name.upper()}"
        default = os.environ.get(variable) or None
        run.add_argument(
            f"--{name}",
            default=default,
            required=default is None,
            help=f"{name} ID or {'slug' if name == 'project' else 'name'} (default: {variable})",
        )
    run.add_argument(
        "--override", action="store_true", help="replace variables that are already set"
    )
    run.add_argument(
        "--keep-token",
        action="store_true",
        help="pass on SECRETS_TOKEN and SECRETS_TOKEN_FILE, which are removed by default",
    )
    run.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="allow a secret to set this variable, although the variable determines which code is "
        "executed; may be repeated",
    )
    run.add_argument("program", nargs="+", metavar="-- PROGRAM", help="program and its arguments")
    return parser.parse_args(arguments)


def replaced(program: list[str], variables: dict[str, str]) -> int:
    """Replaces this process with a program, so that signals reach the program and its exit code is
    the exit code of this process. Windows cannot replace a process: there, runs the program as a
    child process and returns its exit code."""
    try:
        if os.name == "nt":
            return subprocess.call(program, env=variables)
        # Python ignores these signals, and the program would inherit this.
        for name in ("SIGPIPE", "SIGXFSZ"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.execvpe(program[0], program, variables)
    except FileNotFoundError:
        print(f"secrets_service: {program[0]}: command not found", file=sys.stderr)
        return 127
    except PermissionError:
        print(f"secrets_service: {program[0]}: permission denied", file=sys.stderr)
        return 126
    except (OSError, ValueError) as error:
        print(f"secrets_service: the program cannot be started: {error}", file=sys.stderr)
        return 126


if __name__ == "__main__":
    sys.exit(main())
