"""Drills in which one account causes the highest load that its limits allow, while another account
uses the service."""

import contextlib
import multiprocessing
import threading
import time

from program import jwt
from world import Node, imported, quantile, raw, started

GIB = 1 << 30


def memory(drill):
    """Drill of memory use: one account sends large imports and requests exports whose responses it
    does not read. Runs with a limit of 4 GiB on the address space of the service, and without a
    limit."""
    for limit in (4 * GIB, None):
        with Node(drill.database, memory=limit) as node:
            _memory(drill, node, "limited" if limit else "unlimited")
            node.terminate()


def _memory(drill, node, name):
    alice = node.person("alice")
    project = alice.project(f"Memory {name}")
    environments = ["development", "staging", "production"]
    for number in range(drill.size(0, 7)):
        alice.ok("POST", f"{project}/environments", {"name": f"more-{number}"})
        environments.append(f"more-{number}")
    health, watching = [], threading.Event()
    watcher = threading.Thread(target=_watch_health, args=(node, health, watching))
    watcher.start()
    unread = []
    try:
        # In the long form, two imports of 6.25 MiB for each environment: ten environments hold
        # 125 MiB. They would keep a debug build too busy.
        size = drill.size(16_384, 65_536)
        _in_threads([(_import, node, f"{project}/environments/{environment}/secrets/bulk", size)
                     for environment in environments])
        secrets = f"{project}/environments/production/secrets/export"
        for _ in range(35):
            unread.append(raw(node.address, f"GET {secrets} HTTP/1.1", "Host: drill",
                              f"Authorization: Bearer {jwt('alice')}"))
        time.sleep(drill.size(2, 10))
        resident = node.peak_resident()
    finally:
        watching.set()
        watcher.join()
        for connection in unread:
            connection.close()
    statuses = {status for status, _ in health}
    worst = max(seconds for _, seconds in health)
    drill.note(f"{name}: {len(health)} checks, at most {resident} MiB resident")
    drill.bound(f"{name}: worst /health", worst, 1)
    assert node.process.poll() is None, "the service ended"
    # The check of the database has a time limit, which a debug build may exceed while it is busy.
    assert statuses <= ({200} if drill.is_release else {200, 503}), f"/health: {statuses}"
    end = time.monotonic() + 60
    while node.client().status("GET", "/health") != 200:
        assert time.monotonic() < end, "the service is not healthy after the load"
        time.sleep(0.1)
    assert resident < 600 or name == "limited", f"{resident} MiB resident"
    for environment in environments:
        keys = alice.again().ok("GET", f"{project}/environments/{environment}/secrets")["secrets"]
        assert len(keys) == 200, f"{environment} has {len(keys)} secrets"


def _import(node, path, size):
    """Imports 200 values of `size` bytes into an environment, in two requests. Repeats a request as
    long as the account has too many imports at once."""
    for prefix in ("A", "B"):
        end = time.monotonic() + 300
        while (status := node.client(jwt("alice"), timeout=120).status("POST", path, imported(prefix, size=size))) == 503:
            assert time.monotonic() < end, "no import for five minutes"
            time.sleep(1)
        assert status == 200, f"import: {status}"


def _watch_health(node, health, stop):
    client = node.client(timeout=10)
    while not stop.is_set():
        health.append(client.timed("GET", "/health"))
        time.sleep(0.02)


def _in_threads(calls):
    problems = []
    threads = [started(call, problems, *arguments) for call, *arguments in calls]
    for thread in threads:
        thread.join()
    assert not problems, problems


def hostile(drill):
    """Drill: one account sends as many requests as possible with twenty tokens and a session. The
    rate limits have their default values. The reads of another account stay fast."""
    limits = {"SECRETS_RATE_LIMIT_PER_PRINCIPAL": 60, "SECRETS_RATE_LIMIT_PER_IP": 100}
    with Node(drill.database, **limits) as node:
        quiet, loud = node.person("quiet"), node.person("loud")
        key = quiet.secret(quiet.project("Quiet"))
        readers = [node.client(quiet.token(name=f"r{number}")) for number in range(20)]
        project = loud.project("Loud")
        loud.secret(project)
        # A debug build is so slow that fewer clients reach the limits.
        tokens = [loud.token(name=f"t{number}") for number in range(drill.size(10, 20))]

        before = _reads(readers, key, drill.size(2, 30))
        # The rate-limit window of a minute begins again.
        processes = multiprocessing.get_context("fork")
        stop = processes.Event()
        # In a process of its own: threads of this process would delay the reads that are measured.
        calls = [(_misuse, drill, node, project, loud, credential, number, stop)
                 for number, credential in enumerate([*tokens, jwt("loud")])]
        misuse = processes.Process(target=_in_threads, args=(calls,), daemon=True)
        misuse.start()
        try:
            during = _reads(readers, key, drill.size(6, 120))
        finally:
            stop.set()
            misuse.join(60)
        assert misuse.exitcode == 0, "a client of the loud account failed"
        refusals = node.refusals()
        node.terminate()
    quiet_p99 = quantile([seconds for _, seconds in before], 0.99)
    p99 = quantile([seconds for _, seconds in during], 0.99)
    refused = [status for status, _ in during if status != 200]
    drill.note(f"{len(during)} reads, quiet p99 {quiet_p99 * 1000:.0f} ms, refused {refusals}")
    drill.bound("p99", p99, 2 * quiet_p99 + 0.05)
    assert not refused, f"reads of another account: {refused}"
    assert "watchers" in refusals, f"the account did not reach the limit of watches: {refusals}"


def _reads(clients, path, seconds):
    """Sends reads for this many seconds, alternating between the clients so slowly that no rate
    limit refuses them. Returns the status and the duration of each read."""
    results, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        results.append(clients[len(results) % len(clients)].timed("GET", path))
        time.sleep(0.11)
    return results


def _misuse(drill, node, project, loud, credential, number, stop):
    environment = f"{project}/environments/production"
    secrets = f"{environment}/secrets"
    client = node.client(credential, timeout=20)
    body, held = imported(f"K{number}", size=drill.size(1_024, 16_384)), []
    scan = {"team_id": loud.team, "source": {"type": "text"}, "content": "token = x\n" * drill.size(2_000, 50_000)}
    bundle = {"recipients": [{"type": "passphrase", "passphrase": "a passphrase of many words"}]}
    requests = [("POST", f"{secrets}/bulk", body), ("GET", f"{secrets}/export", None)]
    if credential.count(".") == 2:
        # Only the person may send these requests, not a service token.
        requests += [("GET", "/api/v1/audit?action=none", None), ("POST", "/api/v1/scans", scan),
                     ("POST", f"{secrets}/bundle", bundle)]
    # A client may have five watches, and all clients of a team may have 25.
    watches, statuses = [], []
    for _ in range(6):
        watches.append(_watch(node, environment, credential))
        statuses.append(watches[-1].recv(12)[-3:])
    for connection in watches:
        connection.close()
    assert set(statuses) <= {b"200", b"429"} and b"429" in statuses, f"six watches: {statuses}"
    while not stop.is_set():
        for request in requests:
            # Each request may take long.
            if stop.is_set():
                break
            client.status(*request)
        with contextlib.suppress(OSError):
            held.append(_watch(node, environment, credential))
            held.append(raw(node.address, f"GET {secrets}/export HTTP/1.1", "Host: drill",
                            f"Authorization: Bearer {credential}"))
        for connection in held[:-8]:
            connection.close()
        held = held[-8:]
        time.sleep(0.2)
    for connection in held:
        connection.close()


def _watch(node, environment, credential):
    return raw(node.address, f"GET {environment}/watch HTTP/1.1", "Host: drill",
               f"Authorization: Bearer {credential}")
