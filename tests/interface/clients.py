"""Generates a Python and a TypeScript client from an OpenAPI document, checks all their modules
with a strict type checker, and calls ten operations through each client.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
NODE_MODULES = HERE / "node_modules"
OPERATIONS = 10

# Settings that ignore errors in the code that openapi-python-client 0.29.1 generates from the
# documents.
WRONG_IN_GENERATOR = """\
[mypy]
# Its context managers pass on their arguments as `*args: object`.
[mypy-secrets_client.client]
disable_error_code = arg-type

# The modules of operations with two types of request bodies, JSON and forms, do not import `Unset`.
[mypy-secrets_client.api.device_login.start_device_login,secrets_client.api.device_login.poll_device_login]
disable_error_code = name-defined
"""


def check(service, credential, folder):
    """Generates a Python and a TypeScript client from the OpenAPI document of a
    service, and calls the operations through them. Returns the number of called
    operations, and an error message for each client that failed.
    """
    called, failures = 0, []
    for name, build in [("python", python), ("typescript", typescript)]:
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "openapi.json").write_text(json.dumps(service.document))
        try:
            output = run(build(place) + [service.url, credential], place)
        except subprocess.CalledProcessError as error:
            failures.append(f"{name} client: {error.cmd[0]} failed:\n{error.stdout}")
            continue
        called += len(output.splitlines())
        if len(output.splitlines()) != OPERATIONS:
            failures.append(f"{name} client: {OPERATIONS} operations must be called:\n{output}")
    return called, failures


def run(command, folder):
    """Runs a command in a folder, and returns its output. Raises `CalledProcessError` with the
    output if the command fails."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    result = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return result.stdout


def python(folder):
    """Generates the Python client and checks its types. Returns the command that calls ten
    operations through the client."""
    (folder / "config.yaml").write_text(
        "project_name_override: secrets-client\npackage_name_override: secrets_client\n")
    output = run(
        [BIN / "openapi-python-client", "generate", "--path", "openapi.json", "--meta", "none",
         "--config", "config.yaml", "--output-path", "secrets_client"],
        folder,
    )
    # The generator must leave out only the YAML and text forms of an import.
    warnings = output.count("WARNING")
    if warnings != output.count("Unsupported content type"):
        raise subprocess.CalledProcessError(1, ["openapi-python-client"], output)
    (folder / "secrets_client" / "py.typed").touch()
    shutil.copy(HERE / "clients" / "ten_operations.py", folder)
    (folder / "mypy.ini").write_text(WRONG_IN_GENERATOR)
    # Checks all modules of the client, also the modules of operations that are not called.
    run([BIN / "mypy", "--strict", "--cache-dir", "mypy", "secrets_client", "ten_operations.py"], folder)
    return [sys.executable, "ten_operations.py"]


def typescript(folder):
    """Generates the types of the TypeScript client and compiles it. Returns the command that calls
    ten operations through the client."""
    (folder / "node_modules").symlink_to(NODE_MODULES)
    (folder / "package.json").write_text('{ "type": "module" }')
    tools = NODE_MODULES / ".bin"
    run([tools / "openapi-typescript", "openapi.json", "--output", "generated/document.ts"], folder)
    shutil.copy(HERE / "clients" / "ten_operations.ts", folder)
    shutil.copy(HERE / "tsconfig.json", folder)
    run([tools / "tsc", "--project", "tsconfig.json"], folder)
    return ["node", "ten_operations.js"]
