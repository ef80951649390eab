"""Rotates a PostgreSQL user in the background, waits for the result, and logs in as the new user.

DATABASE_URL=postgres://postgres:PASSWORD@127.0.0.1:5432/postgres python examples/python/rotate_and_wait.py
"""

import os
import time
from urllib.parse import unquote, urlsplit

from secrets_service import Service

server = urlsplit(os.environ["DATABASE_URL"])
# Allow connections to the host although it may be private, and without TLS.
with Service.open("memory:", allow_egress=[server.hostname or ""]) as service:
    alice = service.sign_in(issuer="my-program", subject="alice", email="alice@example.com")
    project, environment = alice.project.create(name="Web API")["slug"], "production"
    alice.rotation.create(
        project=project,
        environment=environment,
        name="main-db",
        integration_type="postgresql",
        connection_method="direct",
        rotation_interval_days=30,
        rotate_immediately=True,
        connection={
            "host": server.hostname or "",
            "port": server.port or 5432,
            "database": server.path.strip("/"),
            "admin_username": unquote(server.username or ""),
            "admin_password": unquote(server.password or ""),
            "ssl_mode": "disable",
        },
    )

    # While the service is open, it runs due rotations by itself.
    for _ in range(60):
        rotation = alice.rotation.get(
            project=project, environment=environment, rotation="main-db"
        )
        if rotation.get("last_rotation_at"):
            break
        assert rotation["status"] != "error", rotation.get("error_message")
        time.sleep(0.5)
    else:
        raise SystemExit("it did not rotate within 30 seconds")

    tested = alice.rotation.test(
        project=project, environment=environment, rotation="main-db"
    )
    print("rotated:", ", ".join(rotation["injected_secrets"]), "-", tested["message"])
    first = alice.secret.get(
        project=project, environment=environment, key="MAIN_DB_URL"
    )["value"]

    # Rotate now, and wait for the result.
    attempt = alice.rotation.rotate(
        project=project, environment=environment, rotation="main-db"
    )
    second = alice.secret.get(
        project=project, environment=environment, key="MAIN_DB_URL"
    )["value"]
    assert first != second
    print("rotated again:", attempt["status"], "in attempt", attempt["version"])

try:
    import pg8000.dbapi
except ImportError:
    raise SystemExit("to log in with the new password: pip install pg8000") from None
given = urlsplit(second)
connection = pg8000.dbapi.connect(
    host=given.hostname or "",
    port=given.port or 5432,
    user=unquote(given.username or ""),
    password=unquote(given.password or ""),
    database=given.path.strip("/"),
)
cursor = connection.cursor()
cursor.execute("SELECT current_user")
print("logged in as", *cursor.fetchall()[0])
connection.close()
