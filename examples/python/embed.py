"""Stores a secret in an SQLite file and reads it back, without a server.

pip install the wheel of secrets-py, then: python examples/python/embed.py
"""

import secrets
import tempfile

from secrets_service import Service

root_key = secrets.token_bytes(32)  # Keep this key: nothing in the file can be read without it.

with tempfile.TemporaryDirectory() as folder:
    with Service.open(f"sqlite://{folder}/secrets.db", root_key=root_key) as service:
        alice = service.sign_in(issuer="my-program", subject="alice", email="alice@example.com")
        project = alice.project.create(name="Web API")["slug"]
        alice.secret.create(
            project=project, environment="development", key="DATABASE_URL", value="postgres://db"
        )
        token = alice.token.create(name="job", project_ids=[project], permissions=["read"])["token"]

    # Later, in another process: a machine with a token.
    with Service.open(f"sqlite://{folder}/secrets.db", root_key=root_key) as service:
        machine = service.as_token(token)
        secret = machine.secret.get(project=project, environment="development", key="DATABASE_URL")
        assert secret["value"] == "postgres://db"
        print(secret["key"], "=", secret["value"])
