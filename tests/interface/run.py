"""Tests the OpenAPI document of each envelope (response format, `SECRETS_ENVELOPE`), clients
generated from each document, and the responses of the server to each kind of caller.

Usage: run.py PROGRAM LOG FOLDER. The name of each log file is LOG with the name of the test added.
The reports of the tests are written to FOLDER.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clients
import openapi
from service import Service, World

CONFIG = Path(__file__).with_name("schemathesis.toml")
BIN = Path(sys.executable).parent

# Values of `SECRETS_ENVELOPE`.
ENVELOPE_NAMED, ENVELOPE_BOTH = "named", "both"

# Minimum number of test cases of all tests together.
LEAST = 10_000

# Minimum number of operations whose success is tested in the envelope `both`.
LEAST_IN_BOTH = 80

# Options to leave out operations with endless responses, which send events until the client
# disconnects. Tested in tests/http/watch.rs and tests/http/project_watch.rs.
ENDLESS = ["--exclude-operation-id", "watchEnvironment", "--exclude-operation-id", "watchProject"]

# Operation that revokes the session of the caller. Like `signOut`, it would end the run for this
# caller.
REVOKE = "revokeCliSession"

# Options to send only valid requests. Two callers send invalid ones too, also to the operations that need no
# credential. Errors have the same form in every envelope, a command line session is checked like its user, and
# the other operations refuse a request without a credential before they check its contents.
VALID = ["--mode", "positive", "--phases", "examples,fuzzing", "--max-examples", "5"]

# Callers by name: envelope, source of the credential, and options. The slowest callers come first.
CALLERS = {
    "person": (ENVELOPE_NAMED, lambda world: world.person, ENDLESS),
    "token": (ENVELOPE_NAMED, lambda world: world.service_token, ENDLESS),
    "session": (
        ENVELOPE_NAMED,
        World.session,
        [*ENDLESS, *VALID, "--exclude-operation-id", REVOKE, "--exclude-operation-id", "signOut"],
    ),
    "nobody": (ENVELOPE_NAMED, lambda world: None, [*ENDLESS, *VALID]),
    "person-both": (ENVELOPE_BOTH, lambda world: world.person, [*ENDLESS, *VALID]),
    "token-both": (
        ENVELOPE_BOTH,
        lambda world: world.service_token,
        # Only the operations that need a service token.
        [*VALID, "--include-path-regex", "^/api/v1/eso/"],
    ),
    "session-that-ends": (ENVELOPE_NAMED, World.session, ["--include-operation-id", REVOKE]),
}


def settings(world, credential):
    """Returns the configuration of Schemathesis: the settings in schemathesis.toml, the values for
    path parameters, and the credential."""
    text = CONFIG.read_text()
    for name, values in world.names.items():
        text += f"\n[dictionaries.{name}]\nvalues = {json.dumps(values)}\n"
    if credential:
        text += f'\n[auth.openapi.bearer]\nbearer = "{credential}"\n'
    return text


def test_document(program, log, folder, envelope):
    """Tests the OpenAPI document of an envelope (response format), and the clients
    generated from the document. Returns the number of passed checks, and an error
    message for each failed check.
    """
    with Service(program, log.with_suffix(f".{envelope}.log"), envelope) as service:
        passed, failures = openapi.check(service.document, envelope)
        person = World(service, "clients").person
        called, broken = clients.check(service, person, folder / f"clients-{envelope}")
    return passed + called, [f"{envelope}: {failure}" for failure in failures + broken]


def test_caller(program, log, folder, name):
    """Tests the server with Schemathesis, as one kind of caller. Returns the numbers of
    passed and failed cases, the output, and (for the envelope `both`) the operations
    that had a successful response.
    """
    envelope, credential_of, options = CALLERS[name]
    # Schemathesis stores its findings in the working folder.
    folder /= name
    folder.mkdir(exist_ok=True)
    config, report = folder / "schemathesis.toml", folder / "report.ndjson"
    # Reports are written only if needed, because a report takes a sixth of the time.
    reports = ["--report", "ndjson", "--report-ndjson-path", report] if envelope == ENVELOPE_BOTH else []
    # Each caller has a new store, so that all names are free.
    with Service(program, log.with_suffix(f".{name}.log"), envelope) as service:
        world = World(service, name)
        config.write_text(settings(world, credential_of(world)))
        command = [
            BIN / "st", "--config-file", config, "--no-color", "run",
            # Checks are not named here: named checks would be on even if the settings turn them off.
            f"{service.url}/api/v1/openapi.json", *options, *reports, *seed(),
        ]
        result = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    passed, failed = counts(result)
    failures = service.differences
    output = "\n".join([f"== {name}", *failures, result.stdout])
    operations = service.called | succeeded(report) if reports else set()
    return passed, failed + len(failures), output, operations


def succeeded(report):
    """Returns the operations in a Schemathesis report that had a successful response."""
    operations = set()
    with open(report) as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for case, interaction in recorder.get("interactions", {}).items():
                response, sent = interaction.get("response"), recorder["cases"].get(case)
                if response and sent and response["status_code"] in range(200, 300):
                    operations.add(f"{sent['value']['method']} {sent['value']['path']}")
    return operations


def seed():
    """Returns the options that set the random seed of Schemathesis. The default is always the same
    seed, so that a run does not fail by chance."""
    return ["--seed", os.environ.get("SECRETS_TEST_SEED", "1")]


def counts(result):
    """Returns the numbers of passed and failed cases in the summary that Schemathesis prints. A
    failed run without a summary counts as one failed case."""
    made = re.search(r"^  (\d+) generated", result.stdout, re.MULTILINE)
    found = re.search(r"^  \d+ generated, (\d+) found ", result.stdout, re.MULTILINE)
    made, failed = int(made[1]) if made else 0, int(found[1]) if found else 0
    failed = max(failed, result.returncode != 0)
    return max(made - failed, 0), failed


def main(program, log, folder):
    log, folder = Path(log), Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    in_both = set()
    # Each test runs its own server and its own processes.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        callers = [pool.submit(test_caller, program, log, folder, name) for name in CALLERS]
        documents = [
            pool.submit(test_document, program, log, folder, envelope) for envelope in [ENVELOPE_NAMED, ENVELOPE_BOTH]
        ]
        for test in documents:
            more_passed, failures = test.result()
            for failure in failures:
                print(failure)
            passed, failed = passed + more_passed, failed + len(failures)
        for test in callers:
            more_passed, more_failed, output, operations = test.result()
            print(output, flush=True)
            passed, failed = passed + more_passed, failed + more_failed
            in_both |= operations
    if passed + failed < LEAST:
        print(f"{passed + failed} cases are too few: there must be {LEAST}")
        failed += 1
    if len(in_both) < LEAST_IN_BOTH:
        print(f"{len(in_both)} operations in both are too few: there must be {LEAST_IN_BOTH}")
        failed += 1
    print(f"interface: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
