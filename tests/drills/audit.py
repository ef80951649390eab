"""Drills of the audit log: many entries, and many refused requests."""

import json
import tempfile
import threading
import time
import uuid
from pathlib import Path

from world import Node, quantile

COLUMNS = """team_id, project_id, project_name, environment_id, environment_name, actor_type, actor_id,
    actor_name, actor_email, action, resource_type, resource_id, resource_name, outcome, metadata, address,
    agent, request_id"""


def _copy(database, team, count, age, sealed):
    """Inserts `count` copies of an audit entry of a team. The newest copy is `age` + 1
    seconds old, and each further copy is a second older. If `sealed` is true, the
    copies are part of the audit chain, with positions so high that they do not collide
    with those of the service."""
    position = "1000000000000 + n.n" if sealed else "NULL"
    hash_of = database.random_hash if sealed else "NULL"
    database.run(
        f"""INSERT INTO audit_log (id, {COLUMNS}, created_at, position, previous_hash, hash)
            SELECT {database.random_id}, {COLUMNS}, {database.ago(f"{age} + n.n")}, {position}, {hash_of}, {hash_of}
            FROM (SELECT * FROM audit_log WHERE team_id = :team AND action = 'project.created' LIMIT 1) entry CROSS JOIN {database.numbers} n""",
        team=uuid.UUID(team), count=count)


def _count(database, condition, **values):
    return int(database.run(f"SELECT COUNT(*) FROM audit_log WHERE {condition}", **values)[0][0])


def retention(drill):
    """Drill: the service deletes many audit entries whose retention has ended. The reads of other
    clients stay fast."""
    count = drill.size(6_000, 375_000)
    with Node(drill.database) as node:
        alice = node.person("alice")
        alice.project("Old")
        team = alice.team
        node.terminate()
    _copy(drill.database, team, count, age=10 * 86_400, sealed=False)
    # Deletes the existing chain, so that the chain begins with the copies: only entries at its
    # start are deleted.
    for table in ("audit_log", "audit_heads"):
        drill.database.run(f"DELETE FROM {table} WHERE team_id = :team AND position IS NOT NULL", team=uuid.UUID(team))
    # The service seals the copies, like any new entries.
    with Node(drill.database) as node:
        begin = time.monotonic()
        wait(lambda: unsealed(drill.database) == 0, 900, "the entries are not sealed")
        drill.note(f"{count} entries sealed in {time.monotonic() - begin:.0f} s")
        node.terminate()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "plans.toml"
        config.write_text("[plans.unlimited]\naudit_days = 7\n")
        with Node(drill.database, config=config) as node:
            begin = time.monotonic()
            alice = node.person("alice")
            key = alice.secret(alice.project("New"))
            times, old = [], f"created_at < {drill.database.ago(7 * 86_400)}"
            while (left := _count(drill.database, old)) and time.monotonic() - begin < 900:
                for _ in range(20):
                    status, seconds = alice.timed("GET", key)
                    assert status == 200, f"a read beside the deletion: {status}"
                    times.append(seconds)
                    time.sleep(0.005)
            took = time.monotonic() - begin
            quiet = [alice.timed("GET", key)[1] for _ in range(200)]
            node.terminate()
    assert left == 0, f"{left} entries are left"
    drill.note(f"quiet p99 {quantile(quiet, 0.99) * 1000:.0f} ms")
    drill.bound("deleted in", took, 600)
    if times:
        drill.bound("p99 of reads", quantile(times, 0.99), 2 * quantile(quiet, 0.99) + 0.05)


def unsealed(database):
    """Returns the number of audit entries that are not in a hash chain yet, and of the batches of
    entries that are not in the table of entries yet."""
    return _count(database, "position IS NULL") + int(database.run("SELECT COUNT(*) FROM audit_batches")[0][0])


def lists(drill):
    """Drill: a user in twenty teams lists the audit log, which has many entries."""
    count, teams = drill.size(40_000, 1_000_000), 20
    with Node(drill.database) as node:
        alice = node.person("alice")
        made = [alice.team]
        for number in range(teams - 1):
            made.append(alice.ok("POST", "/api/v1/teams", {"name": f"Team {number}"})["id"])
        for team in made:
            alice.team = team
            alice.project(f"Project {team[-6:]}")
        node.terminate()
    for team in made:
        _copy(drill.database, team, count // teams, age=60, sealed=True)
    if drill.database.kind == "postgres":
        drill.database.run("ANALYZE audit_log")
    with Node(drill.database) as node:
        alice = node.person("alice")
        paths = {
            "all teams": "?limit=50", "oldest first": "?limit=50&order=asc", "one team": f"?team_id={made[3]}",
            "an action": "?action=project.created", "no such action": "?action=secret.deleted",
            "a time": "?from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z",
        }
        for name, query in paths.items():
            times = []
            for _ in range(drill.size(3, 20)):
                status, seconds = alice.timed("GET", f"/api/v1/audit{query}")
                assert status == 200, f"{name}: {status}"
                times.append(seconds)
            drill.bound(name, max(times), 0.1)
        # Every page is limited: a list with a condition continues with its cursor, and reads every
        # entry once.
        pages = entries = 0
        query = f"?team_id={made[3]}&action=project.created&limit=100"
        cursor = ""
        while pages < 2 * count // teams // 100 + 10:
            page = alice.ok("GET", f"/api/v1/audit{query}{cursor}")
            pages, entries = pages + 1, entries + len(page["logs"])
            if "next_cursor" not in page:
                break
            cursor = f"&cursor={page['next_cursor']}"
        node.terminate()
    total = _count(drill.database, "team_id = :team AND action = 'project.created'", team=uuid.UUID(made[3]))
    drill.note(f"{entries} entries in {pages} pages")
    assert entries == total, f"{entries} of {total} entries in {pages} pages"


def refused(drill):
    """Drill: the service refuses many requests that use a token from an address that
    the token does not allow, and records them in the audit log."""
    count, threads = drill.size(3_000, 250_000), 8
    with Node(drill.database) as node:
        alice = node.person("alice")
        token = alice.token(ip_allowlist=["192.0.2.0/24"])
        statuses, begin = [], time.monotonic()

        def use():
            client = node.client(token)
            for _ in range(count // threads):
                statuses.append(client.status("GET", "/api/v1/projects"))

        users = [threading.Thread(target=use) for _ in range(threads)]
        for user in users:
            user.start()
        for user in users:
            user.join()
        took = time.monotonic() - begin
        node.terminate()
    entries = drill.database.run("SELECT metadata FROM audit_log WHERE action = 'token.used_denied'")
    batches = drill.database.run("SELECT entries FROM audit_batches")
    counted = sum(json.loads(metadata)["count"] for (metadata,) in entries)
    pending = sum(text.count("token.used_denied") for (text,) in batches)
    # One entry for each minute in which requests were sent, and the entries that the stop writes.
    most = int(took // 60) + 3
    drill.note(f"{count} refusals in {took:.0f} s, {len(entries)} entries, {pending} in batches")
    assert set(statuses) == {403}, f"{set(statuses)}"
    assert len(entries) + pending <= most, f"{len(entries) + pending} entries in {took:.0f} s"
    assert pending or counted == len(statuses), f"{counted} of {len(statuses)} refusals are counted"


def wait(condition, seconds, message):
    """Waits until a condition is true. Fails with the message after this many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.5)
