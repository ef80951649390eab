"""Holds the program against the document it serves, as each kind of caller.

Usage: run.py PROGRAM LOG FOLDER. The reports are left in the folder.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from service import Service, World

CONFIG = Path(__file__).with_name("schemathesis.toml")
BIN = Path(sys.executable).parent

# How many cases all callers together must have made.
LEAST = 10_000

# It never ends: it sends events until the client goes away. tests/http/watch.rs is about it.
ENDLESS = "GET /api/v1/projects/{projectId}/environments/{environmentId}/watch"


# Ends the session that it is sent with, and so the run of a session.
REVOKE = "POST /api/v1/auth/cli/revoke"

# Who asks, by name: how they come by their credential, and for what they ask.
CALLERS = {
    "nobody": (lambda world: None, ["--exclude-operation-id", ENDLESS]),
    "person": (lambda world: world.person, ["--exclude-operation-id", ENDLESS]),
    "token": (lambda world: world.service_token, ["--exclude-operation-id", ENDLESS]),
    "session": (
        World.session,
        ["--exclude-operation-id", ENDLESS, "--exclude-operation-id", REVOKE],
    ),
    "session-that-ends": (World.session, ["--include-operation-id", REVOKE]),
}


def settings(world, credential):
    """Ours, with the names that are somebody's in this world."""
    text = CONFIG.read_text()
    for name, values in world.names.items():
        text += f"\n[dictionaries.{name}]\nvalues = {json.dumps(values)}\n"
    if credential:
        text += f'\n[auth.openapi.bearer]\nbearer = "{credential}"\n'
    return text


def run(service, name, folder):
    """Runs Schemathesis as one kind of caller, and gives how many cases passed and failed."""
    credential_of, operations = CALLERS[name]
    world = World(service, name)
    config, report = folder / f"{name}.toml", folder / f"{name}.ndjson"
    config.write_text(settings(world, credential_of(world)))
    command = [
        BIN / "st", "--config-file", config, "--no-color", "run",
        # All checks are on unless the settings say otherwise: named here, they would be on in spite
        # of that.
        f"{service.url}/api/v1/openapi.json", *operations,
        "--report", "ndjson", "--report-ndjson-path", report, *seed(),
    ]
    # In the folder, where it keeps what it found.
    result = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(f"== {name}\n{result.stdout}", flush=True)
    return counts(result)


def seed():
    """The seed to begin with: the same each time, so that chance breaks nobody's change."""
    return ["--seed", os.environ.get("SECRETS_TEST_SEED", "1")]


def counts(result):
    """How many cases passed and failed, by the summary. What broke otherwise counts as a case."""
    made = re.search(r"^  (\d+) generated", result.stdout, re.MULTILINE)
    found = re.search(r"^  \d+ generated, (\d+) found ", result.stdout, re.MULTILINE)
    made, failed = int(made[1]) if made else 0, int(found[1]) if found else 0
    failed = max(failed, result.returncode != 0)
    return max(made - failed, 0), failed


def main(program, log, folder):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    with Service(program, log) as service:
        with urllib.request.urlopen(service.url + "/api/v1/openapi.json") as answer:
            document = json.load(answer)
        for error in OpenAPIV31SpecValidator(document).iter_errors():
            print(f"the document is no OpenAPI 3.1: {error}")
            failed += 1
        passed += not failed
    for name in CALLERS:
        # A store of its own, so that names are free.
        with Service(program, log) as service:
            more_passed, more_failed = run(service, name, folder)
            passed, failed = passed + more_passed, failed + more_failed
    if passed + failed < LEAST:
        print(f"{passed + failed} cases are too few: there must be {LEAST}")
        failed += 1
    print(f"interface: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
