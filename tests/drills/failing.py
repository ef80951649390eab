"""Drills of background work that fails: damaged records, and a webhook receiver that never
responds."""

import http.server
import json
import socket
import threading
import time
import uuid

from world import Node

ROTATION = {
    "integration_type": "postgresql", "connection_method": "direct", "rotation_interval_days": 30,
    "rotate_immediately": True,
}


def _rotation(client, project, name, port):
    rotations = f"{project}/environments/production/rotations"
    connection = {"host": "127.0.0.1", "port": port, "database": "app", "admin_username": "rotator",
                  "admin_password": "kvc_admin", "ssl_mode": "disable"}
    body = ROTATION | {"name": name, "connection": connection}
    return f"{rotations}/{name}", client.ok("POST", rotations, body)


def _due(database, rotation):
    database.run(f"UPDATE rotations SET work_at = {database.ago(60)}, next_rotation_at = {database.ago(60)} "
                 "WHERE id = :id", id=uuid.UUID(rotation["id"]))


def _refuse_deletes(database, project):
    """Adds a trigger to the database that makes every deletion of an environment of this project
    fail."""
    if database.kind == "sqlite":
        number = uuid.UUID(project).hex
        database.run(f"""CREATE TRIGGER poison BEFORE DELETE ON environments WHEN OLD.project_id = X'{number}'
                         BEGIN SELECT RAISE(ABORT, 'poison'); END""")
        return
    database.run("""CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'poison'; END $$""")
    database.run(f"""CREATE TRIGGER poison BEFORE DELETE ON environments FOR EACH ROW
                     WHEN (OLD.project_id = '{project}') EXECUTE FUNCTION poison()""")


def poisoned(drill):
    """Drill: background work fails for one team, because a rotation, the head of the
    audit chain and a deleted project of the team are damaged in the database. The
    background work of other teams is not delayed, and /health names the failing
    objects."""
    database = drill.database
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    with Node(database) as node:
        mallory, alice = node.person("mallory"), node.person("alice")
        project, other = mallory.project("Poisoned"), alice.project("Healthy")
        damaged, bad = _rotation(mallory, project, "bad", port)
        _, good = _rotation(alice, other, "good", port)
        gone = [mallory.project("Gone 1"), alice.project("Gone 2")]
        for client, path in zip((mallory, alice), gone, strict=True):
            assert client.status("DELETE", path) == 204
        node.terminate()
    poison = uuid.UUID(gone[0].rsplit("/", 1)[1])
    kept = uuid.UUID(gone[1].rsplit("/", 1)[1])
    old = database.ago(31 * 86_400)
    database.run(f"UPDATE projects SET deleted_at = {old} WHERE deleted_at IS NOT NULL")
    _refuse_deletes(database, str(poison))
    # Replaces the head of the audit chain and the connection of the rotation by the contents of
    # other rows.
    database.run("UPDATE audit_heads SET mac = (SELECT h.mac FROM audit_heads h WHERE h.team_id = :other) "
                 "WHERE team_id = :team", other=uuid.UUID(alice.team), team=uuid.UUID(mallory.team))
    database.run("UPDATE rotations SET connection = (SELECT r.connection FROM rotations r WHERE r.id = :other) "
                 "WHERE id = :id", other=uuid.UUID(good["id"]), id=uuid.UUID(bad["id"]))
    for rotation in (bad, good):
        _due(database, rotation)

    with Node(database) as node:
        begin = time.monotonic()
        mallory, alice = node.person("mallory"), node.person("alice")
        mallory.secret(project)
        alice.secret(other)
        waits = {
            "the other rotation was tried": lambda: _attempts(database, good) > 0,
            "the other chain was sealed": lambda: _unsealed(database, alice.team) == 0,
            "the other project was purged": lambda: not _exists(database, kept),
            "/health names the chain, the project and the rotation": lambda: _named(node) >= {
                ("audit seal", mallory.team), ("project purge", str(poison)), ("rotation record", bad["id"])},
            "the damaged rotation says so": lambda: "cannot be decrypted" in _error(mallory, damaged),
        }
        for what, condition in waits.items():
            _wait(condition, 90, what, node)
            drill.note(f"{what} after {time.monotonic() - begin:.1f} s")
        assert _unsealed(database, mallory.team) > 0, "the damaged chain was continued"
        assert _exists(database, poison), "the project was purged"
        if database.kind == "postgres" and drill.is_long:
            commits = _commits(database, 30)
            drill.note(f"{commits:.1f} transactions/s afterwards")
            assert commits < 10, f"{commits:.1f} transactions/s"
        assert node.client().status("GET", "/health") == 200
        node.terminate()


def _commits(database, seconds):
    """Measures the number of database transactions per second, for this many seconds. Does not
    count the transactions of the measurement itself."""
    # The view shows the counters of a session when it ends, so the measurement waits first.
    count = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    time.sleep(2)
    first = database.run(count)[0][0]
    time.sleep(seconds)
    return max(0, database.run(count)[0][0] - first - 2) / seconds


def _error(client, rotation):
    """Reads a rotation and returns its error message, or an empty string if it has
    none."""
    # Uses a new connection, because the service closes a connection that was idle for a minute.
    return client.again().ok("GET", rotation).get("error_message", "")


def _attempts(database, rotation):
    return int(database.run("SELECT COUNT(*) FROM rotation_attempts WHERE rotation_id = :id",
                            id=uuid.UUID(rotation["id"]))[0][0])


def _unsealed(database, team):
    return int(database.run("SELECT COUNT(*) FROM audit_log WHERE team_id = :team AND position IS NULL",
                            team=uuid.UUID(team))[0][0])


def _exists(database, project):
    """Returns true if the project still has environments. Purging a deleted project
    deletes its environments but keeps its row, so that its slug is not used again."""
    return bool(database.run("SELECT id FROM environments WHERE project_id = :id", id=project))


def _named(node):
    health = json.loads(node.client().text("GET", "/health"))
    return {(item["work"], item.get("id")) for item in health["failing"]}


def _wait(condition, seconds, what, node):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not yet: {what}; failing: {_named(node)}; {node.log}")
        time.sleep(0.2)


class Receiver:
    """HTTP server that receives webhook events. If `answers` is true, it responds to
    each at once, otherwise never."""

    def __init__(self, host, answers):
        receiver, self.taken, self.release = self, [], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                receiver.taken.append(time.monotonic())
                if not answers:
                    receiver.release.wait(600)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((host, 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://{host}:{self.server.server_port}/"

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


def receiver(drill):
    """Drill: many webhook events for a receiver that never responds do not delay the events for
    other receivers."""
    database, count = drill.database, drill.size(500, 3_000)
    # The receivers have different hosts, because the deliveries to one host at a time are limited.
    silent, prompt = Receiver("127.0.0.1", False), Receiver("127.0.0.2", True)
    egress = {"SECRETS_EGRESS_ALLOW": "127.0.0.0/8"}
    with Node(database, **egress) as node:
        mallory, alice = node.person("mallory"), node.person("alice")
        hooks = []
        for client, target, name in ((mallory, silent, "bad"), (alice, prompt, "good")):
            path, rotation = _rotation(client, client.project(f"Events {name}"), name, 1)
            client.ok("POST", f"{path}/webhooks",
                      {"url": target.url, "events": ["rotation.failed"]})
            hooks.append((client, f"{path}/webhooks", rotation))
        is_counted = database.kind == "postgres" and drill.is_long
        idle = _commits(database, 30) if is_counted else None
        webhook = mallory.ok("GET", hooks[0][1])[0]["id"]
        mallory.ok("POST", f"{hooks[0][1]}/{webhook}/test")
        node.terminate()
    _multiply_deliveries(database, uuid.UUID(webhook), count)
    with Node(database, **egress) as node:
        alice = node.person("alice")
        path = hooks[1][1]
        good = alice.ok("GET", path)[0]["id"]
        begin, before = time.monotonic(), len(prompt.taken)
        alice.ok("POST", f"{path}/{good}/test")
        _wait(lambda: len(prompt.taken) > before, 60, "the other receiver has its event", node)
        took = time.monotonic() - begin
        if is_counted:
            # The service reads each event once before it postpones the event.
            time.sleep(30)
        commits = _commits(database, 30) if is_counted else None
        waiting = int(database.run("SELECT COUNT(*) FROM outbox")[0][0])
        _wait(lambda: ("webhook receiver", webhook) in _named(node), 90, "/health names the receiver", node)
        silent.release.set()
        node.terminate()
    silent.close()
    prompt.close()
    drill.note(f"{waiting} events wait, the other receiver's arrived after {took:.1f} s")
    assert waiting >= count // 2, f"only {waiting} events wait"
    if commits is not None:
        drill.note(f"{commits:.1f} transactions/s, {idle:.1f} without events")
        assert commits - idle < 10, f"{commits - idle:.1f} transactions/s"


def _multiply_deliveries(database, webhook, count):
    """Inserts `count` copies of the first delivery of a webhook. All of them are due
    now."""
    fields = "webhook_id, event, body, attempts, response_status, created_at"
    ids = [uuid.uuid4() for _ in range(count)]
    rows = [{"delivery": one, "id": uuid.uuid4(), "payload": json.dumps({"delivery": str(one)})} for one in ids]
    for start in range(0, count, 250):
        _insert_deliveries(database, webhook, fields, rows[start:start + 250])


def _insert_deliveries(database, webhook, fields, rows):
    values, names = {"webhook": webhook}, []
    for number, row in enumerate(rows):
        values |= {f"d{number}": row["delivery"], f"o{number}": row["id"], f"p{number}": row["payload"]}
        names.append(number)
    uuid_of = (lambda name: f"CAST(:{name} AS UUID)") if database.kind == "postgres" else (lambda name: f":{name}")
    listed = " UNION ALL ".join(f"SELECT {uuid_of(f'd{n}')} AS id" for n in names)
    deliveries = {name: value for name, value in values.items() if name[0] in "dw"}
    database.run(f"""INSERT INTO webhook_deliveries (id, {fields}, status, next_attempt_at)
                     SELECT new.id, {fields}, 'pending', created_at
                     FROM (SELECT {fields} FROM webhook_deliveries WHERE webhook_id = :webhook
                           ORDER BY created_at LIMIT 1) first CROSS JOIN ({listed}) new""", **deliveries)
    listed = ", ".join(f"({uuid_of(f'o{n}')}, 'webhook', :p{n}, 0, {database.ago(60)}, {database.ago(60)})"
                       for n in names)
    outbox = {name: value for name, value in values.items() if name[0] in "op"}
    database.run(f"""INSERT INTO outbox (id, kind, payload, attempts, next_attempt_at, created_at)
                     VALUES {listed}""", **outbox)
