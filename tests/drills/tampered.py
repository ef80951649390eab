"""Drill of a database whose records were changed behind the service."""

import collections
import random
import re
import uuid

from program import jwt
from world import Node, command

# One record of this many is damaged at the same time. The service does not start if more than a
# quarter of the records that it tries cannot be decrypted.
INTERVAL = 20

UPDATE = "UPDATE secrets SET sealed = :sealed WHERE id = :id"


def tampered(drill):
    """Drill: a bit of a record is flipped, or a record is replaced by its previous version or by that
    of another secret; and keys of projects are changed. No read returns such a record, each is
    counted with its reason, and `doctor verify` reports them."""
    count, rounds, projects = drill.size(800, 12_000), drill.size(1, INTERVAL), drill.size(2, 5)
    with Node(drill.database) as node:
        alice = node.person("alice")
        paths = _create(alice, alice.project("Tampered"), count)
        for key in (f"LOCKED_{number}" for number in range(projects)):
            paths[key] = alice.secret(alice.project(key), key=key)
        node.terminate()
    chance, detected = random.Random(1), collections.Counter()
    locked = _lock(drill.database, chance)
    for number in range(rounds):
        reasons, originals = _damage(drill.database, number, chance)
        if number == 0:
            verified = command(drill.database, "doctor", "verify")
            assert verified.returncode != 0, "`doctor verify` reports nothing"
        _read(drill.database, paths, locked | reasons)
        drill.database.run_each(UPDATE, originals)
        detected.update(reasons.values())
    drill.note(f"{sum(detected.values())} damaged records and {len(locked)} keys, detected: {dict(detected)}")


def _create(alice, project, count):
    """Creates secrets with two versions each, 1,000 in an environment. Returns the URL path of each
    secret by its key."""
    paths = {}
    for begin in range(0, count, 1_000):
        environment = f"part-{begin // 1_000}"
        alice.ok("POST", f"{project}/environments", {"name": environment})
        secrets = f"{project}/environments/{environment}/secrets"
        keys = [f"KEY_{number:05}" for number in range(begin, min(begin + 1_000, count))]
        for version in (1, 2):
            for start in range(0, len(keys), 100):
                values = [{"key": key, "value": f"kvc_{key}_{version}"} for key in keys[start:start + 100]]
                alice.ok("POST", f"{secrets}/bulk", {"overwrite": True, "secrets": values})
        paths |= {key: f"{secrets}/{key}" for key in keys}
    return paths


def _damage(database, number, chance):
    """Changes every twentieth record, beginning with the record of this number. Returns the reasons
    that the service must report, by key, and the original records."""
    rows = database.run("SELECT id, key, sealed FROM secrets WHERE key LIKE 'KEY%' ORDER BY key")[number::INTERVAL]
    previous = dict(database.run("SELECT secret_id, sealed FROM secret_versions WHERE version = 1"))
    reasons, changes = {}, []
    for place, (identity, key, sealed) in enumerate(rows):
        if place % 12 == 0:
            changed, reasons[key] = previous[identity], "record"
        elif place % 12 == 1:
            changed, reasons[key] = rows[place - 1][2], "record"
        else:
            changed, bit = _flipped(sealed, chance)
            # The header has three bytes for the format and four for the version of the project key.
            reasons[key] = "format" if bit < 24 else "missing_key" if bit < 56 else "record"
        changes.append({"id": identity, "sealed": changed})
    database.run_each(UPDATE, changes)
    return reasons, [{"id": identity, "sealed": sealed} for identity, _, sealed in rows]


def _lock(database, chance):
    """Flips a bit of the wrapped key of each project with a locked secret. Returns the reasons that the
    service must report, by key."""
    rows = database.run(
        "SELECT p.project_id, p.wrapped, s.key FROM project_keys p JOIN environments e ON e.project_id = p.project_id "
        "JOIN secrets s ON s.environment_id = e.id WHERE s.key LIKE 'LOCKED%'")
    changes = [{"id": project, "wrapped": _flipped(wrapped, chance)[0]} for project, wrapped, _ in rows]
    database.run_each("UPDATE project_keys SET wrapped = :wrapped WHERE project_id = :id", changes)
    return {key: "key" for _, _, key in rows}


def _flipped(blob, chance):
    """Returns a copy of a byte string with one bit flipped, and the number of the bit."""
    changed, bit = bytearray(blob), chance.randrange(8 * len(blob))
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed), bit


def _read(database, paths, reasons):
    """Reads all damaged secrets and every tenth of the others. `reasons` are the reasons that the
    service must report, by key."""
    with Node(database) as node:
        client = node.client(jwt("alice"))
        # The service has tried some records at its start.
        tried = collections.Counter(node.counters("secrets_decryption_failures_total", "reason"))
        for place, (key, path) in enumerate(paths.items()):
            if key in reasons:
                status, body = client.send("GET", path)
                assert status == 500, f"{key}: {status}"
                assert b"kvc_" not in body, f"{key}: the response has a value"
            elif place % 10 == 0:
                status, body = client.send("GET", path)
                assert status == 200 and f"kvc_{key}_2".encode() in body, f"{key}: {status}"
        assert client.status("GET", "/health") == 200
        counted = collections.Counter(node.counters("secrets_decryption_failures_total", "reason"))
        node.terminate()
    counted.subtract(tried)
    assert +counted == collections.Counter(reasons.values()), f"counted: {counted}"


ENVIRONMENTS = ("development", "staging", "production")
EARLIER = ("UPDATE secrets SET version = 1, sealed = (SELECT v.sealed FROM secret_versions v "
           "WHERE v.secret_id = secrets.id AND v.version = 1) WHERE id = :id")


def replayed(drill):
    """Drill: in every second environment, the row of one secret is replaced by its earlier row, which
    decrypts. `doctor verify` names exactly these environments."""
    projects = drill.size(4, 334)
    with Node(drill.database) as node:
        alice = node.person("alice")
        for number in range(projects):
            project = alice.project(f"Replayed {number}")
            for environment in ENVIRONMENTS:
                path = alice.secret(project, environment)
                alice.secret(project, environment, key="OTHER")
                alice.ok("PUT", path, {"value": "kvc_second"})
        node.terminate()
    assert command(drill.database, "doctor", "verify").returncode == 0
    rows = drill.database.run("SELECT id, environment_id FROM secrets WHERE version = 2 ORDER BY environment_id")[::2]
    drill.database.run_each(EARLIER, [{"id": identity} for identity, _ in rows])
    verified = command(drill.database, "doctor", "verify")
    assert verified.returncode != 0, "`doctor verify` reports nothing"
    named = set(re.findall(r"environment (\S+): the secrets do not match", verified.stdout))
    expected = {str(uuid.UUID(bytes=found) if isinstance(found, bytes) else found) for _, found in rows}
    assert named == expected, f"not named: {expected - named}; named too: {named - expected}"
    drill.note(f"{len(rows)} of {projects * len(ENVIRONMENTS)} environments with a replayed row, all named")
