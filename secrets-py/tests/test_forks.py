"""Clients that were used before a fork: children read their own responses, and do not hang."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

from certificates import Authority
from servers import Host

BEGIN = """
import asyncio, multiprocessing, os, ssl, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from secrets_service import AsyncClient, Client
url, authority = sys.argv[1:]
context = ssl.create_default_context(cafile=authority) if authority else None
client = Client(url, token="t", context=context)
asynchronous = AsyncClient(url, token="t", context=context)
def read(key):
    return client.secret.get(project="p", environment="e", key=key)["value"] == f"kvc_{key}"
async def read_async(key):
    found = await asynchronous.secret.get(project="p", environment="e", key=key)
    return found["value"] == f"kvc_{key}"
def reads(keys):
    async def main():
        return await asyncio.gather(*(read_async(key) for key in keys))
    return asyncio.run(asyncio.wait_for(main(), 60))
def child(work):
    process = os.fork()
    if process == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return process
def ended(processes):
    return [os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in processes]
"""


def run(code: str, url: str, authority: Path | str = "") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, url, str(authority)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


# Seconds before a response, so that children wait for responses at the same time.
PAUSE = 0.01

POOL = """
assert read("START")
with multiprocessing.get_context("fork").Pool(8) as pool:
    right = pool.map(read, [f"K{number}" for number in range(2000)])
print(right.count(True), right.count(False))
"""


def test_a_pool_of_forked_processes_reads_its_own_responses(host: Host) -> None:
    host.pause = PAUSE
    assert run(POOL, host.url) == ["2000 0"]


def test_the_prefork_pool_of_celery_reads_its_own_responses(host: Host) -> None:
    host.pause = PAUSE
    code = POOL.replace("multiprocessing.get_context", "billiard.get_context")
    assert run("import billiard\n" + code, host.url) == ["2000 0"]


def test_a_pool_of_forked_processes_reads_its_own_responses_over_tls(
    authority: Authority,
) -> None:
    with Host(authority.server()) as host:
        host.pause = PAUSE
        assert run(POOL, host.url, authority.path) == ["2000 0"]


def test_threads_and_tasks_go_on_beside_forks(host: Host) -> None:
    code = """
wrong = []
def work(number):
    wrong.extend(key for one in range(85) if not read(key := f"T{number}_{one}"))
threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
threads.append(threading.Thread(target=lambda: wrong.extend(
    one for one in range(20) if not all(reads([f"A{one}_{number}" for number in range(32)])))))
for thread in threads:
    thread.start()
children = [child(lambda: all(read(f"C{one}_{number}") for number in range(20)))
            for one in range(10)]
for thread in threads:
    thread.join()
print(ended(children), wrong)
"""
    assert run(code, host.url) == [f"{[0] * 10} []"]


def test_an_asyncio_client_works_in_a_child(host: Host) -> None:
    code = """
assert all(reads(["PARENT"]))
children = [child(lambda: all(reads([f"C{one}"])) and all(reads([f"D{one}_{number}"
            for number in range(40)]))) for one in range(4)]
assert all(reads([f"Q{number}" for number in range(40)]))
print(ended(children))
"""
    assert run(code, host.url) == [f"{[0] * 4}"]


def test_a_child_of_a_child_has_connections_of_its_own(host: Host) -> None:
    code = """
def grandchild():
    return read("CHILD") and ended([child(lambda: read("GRANDCHILD"))]) == [0] and read("CHILD_2")
assert read("PARENT")
print(ended([child(grandchild)]), read("PARENT_2"))
"""
    assert run(code, host.url) == ["[0] True"]
    assert len(host.peers) == 3


def test_a_child_does_not_abort_a_call_of_its_parent(host: Host) -> None:
    code = """
import socket
from secrets_service._call import Call
one, other = socket.socketpair()
other.settimeout(60)
call = Call("project.list", deadline=60, patience=0, can_abort=True)
call.attach(one)
print(ended([child(lambda: call.abort() is None)]))
one.sendall(b"x")
print(other.recv(1))
call.abort()
print(other.recv(1))
"""
    assert run(code, host.url) == ["[0]", "b'x'", "b''"]


GUNICORN = """
import os
from secrets_service import Client
client = Client(os.environ["SECRETS_URL"])
def read(key):
    return client.secret.get(project="p", environment="e", key=key)["value"]
read("PRELOADED")
def app(environ, start_response):
    start_response("200 OK", [])
    return [str(read(environ["PATH_INFO"][1:])).encode()]
"""


def test_the_workers_of_gunicorn_read_their_own_responses(host: Host, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(GUNICORN)
    command = ["--preload", "--workers", "4", "--bind", "127.0.0.1:0", "--timeout", "0", "app:app"]
    server = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *command],
        cwd=tmp_path, env={**os.environ, "SECRETS_URL": host.url}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wrong: list[str] = []
    try:
        assert server.stderr
        url = next(
            line.split()[-2] for line in server.stderr if "Listening at: http://127" in line
        )
        drain = threading.Thread(target=server.stderr.read, daemon=True)
        drain.start()

        def work(number: int) -> None:
            for one in range(25):
                key = f"G{number}_{one}"
                with urllib.request.urlopen(f"{url}/{key}", timeout=60) as answer:
                    if answer.read() != f"kvc_{key}".encode():
                        wrong.append(key)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(host.asked) >= 201
    finally:
        server.terminate()
        server.wait(30)
    drain.join(30)

    assert wrong == []
