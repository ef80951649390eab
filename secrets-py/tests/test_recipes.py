"""Tests that run the code in RECIPES.md unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import client, name
from program import ROOT, jwt

TEXT = (ROOT / "secrets-py/python/secrets_service/RECIPES.md").read_text()
RECIPES = re.findall(r"^```(python|sh)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)

DJANGO = """
import django
from django.core.signing import Signer
django.setup()
assert Signer().unsign(Signer().sign("x")) == "x"
"""

FASTAPI = """
import hashlib, hmac
from fastapi.testclient import TestClient
from main import app
signature = hmac.new(b"kvc_3", b"order", hashlib.sha256).hexdigest()
with TestClient(app) as http:
    accepted = http.post("/orders", content=b"order", headers={"X-Signature": signature})
    refused = http.post("/orders", content=b"order", headers={"X-Signature": "0" * 64})
assert accepted.json() == {"status": "accepted"}
assert refused.status_code == 403
assert "kvc_" not in accepted.text + refused.text
"""

# Sends tasks, and prints their results.
CELERY = """
from celery import group
from tasks import count
keys = ["DATABASE_URL", "DJANGO_SECRET_KEY", "WEBHOOK_KEY"]
print(group(count.s(key) for key in keys * 10).delay().get(timeout=100))
"""

# Runs the cells of a notebook, and saves the notebook with their outputs.
NOTEBOOK = """
import sys
import nbformat
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell(cell) for cell in open("cells.py").read().split("# %%\\n")[1:]]
notebook = nbformat.v4.new_notebook(cells=cells)
NotebookClient(notebook, kernel_name="python3", timeout=100).execute()
nbformat.write(notebook, "cells.ipynb")
for cell in cells:
    print(cell.outputs[0].data["text/plain"])
"""


@pytest.fixture
def variables(program: Any, tmp_path: Path) -> dict[str, str]:
    """Creates a project with three secrets. Returns the environment variables that the recipes
    need, such as the address of the service and a token that can read the project."""
    person = name()
    session = client(program, person)
    slug = session.project.create(name="Shop")["slug"]
    values = {
        "DATABASE_URL": "postgres://kvc_1",
        "DJANGO_SECRET_KEY": "kvc_2" * 10,
        "WEBHOOK_KEY": "kvc_3",
    }
    for key, value in values.items():
        session.secret.create(project=slug, environment="staging", key=key, value=value)
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("DATABASE_")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SECRETS_URL": program.url,
        "SECRETS_TOKEN": jwt(person),
        # Slugs of projects are unique within the server of all tests.
        "SLUG": slug,
    }


def recipe(word: str, variables: dict[str, str]) -> str:
    found = [text for _, text in RECIPES if word in text]
    assert len(found) == 1, word
    slug = variables["SLUG"]
    return found[0].replace('"shop"', f'"{slug}"').replace("--project shop", f"--project {slug}")


def run(code: str, folder: Path, variables: dict[str, str], *command: str) -> str:
    done = subprocess.run(
        [*(command or [sys.executable, "-c"]), code],
        cwd=folder, env=variables, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_every_recipe_is_run() -> None:
    assert len(RECIPES) == 10


def test_a_program_runs_with_secrets(variables: dict[str, str], tmp_path: Path) -> None:
    said = run(recipe("secrets_service run", variables), tmp_path, variables, "sh", "-c")
    assert said == "16\n"


def test_secrets_become_variables(variables: dict[str, str], tmp_path: Path) -> None:
    assert run(recipe("import load_env", variables), tmp_path, variables) == "16\n"


def test_settings_of_pydantic(variables: dict[str, str], tmp_path: Path) -> None:
    code = recipe("pydantic_settings", variables)
    assert run(code, tmp_path, variables) == "database_url=<hidden> debug=False\n"
    mine = run(code + 'print(settings.database_url == "mine")', tmp_path, variables | {"DATABASE_URL": "mine"})
    assert mine.endswith("True\n")


def test_settings_of_django(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(recipe("SECRET_KEY =", variables))
    run(DJANGO, tmp_path, variables | {"DJANGO_SETTINGS_MODULE": "settings"})


def test_an_application_of_fastapi(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(recipe("FastAPI(", variables))
    run(FASTAPI, tmp_path, variables)


def test_a_fixture_of_pytest(variables: dict[str, str], tmp_path: Path) -> None:
    # The service in memory is empty, so the slug of the recipe is free.
    path = tmp_path / "test_own.py"
    path.write_text(recipe("import pytest", variables | {"SLUG": "shop"}))
    arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    assert "1 passed" in run(str(path), tmp_path, variables, *arguments)


def test_processes_that_fork(variables: dict[str, str], tmp_path: Path) -> None:
    assert run(recipe("multiprocessing", variables), tmp_path, variables) == "[16, 50]\n"


def test_tasks_of_celery(variables: dict[str, str], tmp_path: Path) -> None:
    # Broker in a folder: both processes write messages to the folder that the worker reads.
    (tmp_path / "data_in").mkdir()
    (tmp_path / "data_out").symlink_to("data_in")
    (tmp_path / "results").mkdir()
    variables["CELERY_BROKER_URL"] = "filesystem://"
    variables["CELERY_RESULT_BACKEND"] = f"file://{tmp_path}/results"
    # The worker has an open connection before it forks.
    code = recipe("from celery", variables) + "client.project.list()\n"
    (tmp_path / "tasks.py").write_text(code)
    options = ["--concurrency=4", "--pool=prefork", "--without-gossip", "--without-mingle"]
    with (tmp_path / "log").open("w") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "tasks", "worker", *options],
            cwd=tmp_path, env=variables, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        said = run(CELERY, tmp_path, variables)
    finally:
        worker.terminate()
        worker.wait(60)
        # pytest shows the log if the test fails.
        print((tmp_path / "log").read_text())
    assert said == f"{[16, 50, 5] * 10}\n"
    assert "kvc_" not in (tmp_path / "log").read_text()


def test_cells_of_a_notebook(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cells.py").write_text(recipe("# %%", variables))
    folders = {name: str(tmp_path) for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
    said = run(NOTEBOOK, tmp_path, variables | folders)
    hidden, length = said.splitlines()[:-1], said.splitlines()[-1]
    assert "'DATABASE_URL': <hidden>" in "".join(hidden)
    assert length == "16"
    assert "kvc_" not in (tmp_path / "cells.ipynb").read_text()


def test_yaml(variables: dict[str, str], tmp_path: Path) -> None:
    said = run(recipe("import sys, yaml", variables), tmp_path, variables)
    assert said.startswith("DATABASE_URL: postgres://kvc_1\n")
