"""Tests the OpenAPI document and clients generated from it, and the server against the document, as each
kind of caller.

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

import clients
import examples
from service import Service, World

CONFIG = Path(__file__).with_name("schemathesis.toml")
BIN = Path(sys.executable).parent

# Minimum number of test cases of all callers together.
LEAST = 10_000

# An endless response: it sends events until the client disconnects. Tested in tests/http/watch.rs.
ENDLESS = "watchEnvironment"


# Revokes the session of the caller, which would end the run for that caller.
REVOKE = "revokeCliSession"

# Callers by name: the source of their credential, and the selection of operations.
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
    """Settings of this project, with the dictionaries of names in this world."""
    text = CONFIG.read_text()
    for name, values in world.names.items():
        text += f"\n[dictionaries.{name}]\nvalues = {json.dumps(values)}\n"
    if credential:
        text += f'\n[auth.openapi.bearer]\nbearer = "{credential}"\n'
    return text


def run(service, name, folder):
    """Runs Schemathesis as one kind of caller. Returns the number of passed and failed cases."""
    credential_of, operations = CALLERS[name]
    world = World(service, name)
    config, report = folder / f"{name}.toml", folder / f"{name}.ndjson"
    config.write_text(settings(world, credential_of(world)))
    command = [
        BIN / "st", "--config-file", config, "--no-color", "run",
        # Checks are not named here: named checks would be on even if the settings turn them off.
        f"{service.url}/api/v1/openapi.json", *operations,
        "--report", "ndjson", "--report-ndjson-path", report, *seed(),
    ]
    # Schemathesis stores its findings in the working folder.
    result = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(f"== {name}\n{result.stdout}", flush=True)
    return counts(result)


def seed():
    """Seed of the run. The same each time, so that a change does not fail by chance."""
    return ["--seed", os.environ.get("SECRETS_TEST_SEED", "1")]


def counts(result):
    """Number of passed and failed cases in the summary. Any other failure counts as one case."""
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
        for more_passed, invalid in [
            examples.check(document),
            clients.check(service, document, World(service, "clients").person, folder),
        ]:
            for failure in invalid:
                print(failure)
            passed, failed = passed + more_passed, failed + len(invalid)
    for name in CALLERS:
        # A new store for each caller, so that all names are free.
        with Service(program, log) as service:
            more_passed, more_failed = run(service, name, folder)
            passed, failed = passed + more_passed, failed + more_failed
    if passed + failed < LEAST:
        print(f"{passed + failed} cases are too few: there must be {LEAST}")
        failed += 1
    print(f"interface: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
