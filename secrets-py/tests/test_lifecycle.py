"""Tests of the exit of a program: with running operations, by a signal, and after a fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BEGIN = """
import asyncio, os, signal, sys, threading, time
from secrets_service import *
service = Service.open({url!r}, root_key=bytes(32))
session = service.sign_in(issuer="here", subject="1", email="a@example.com")
slug = session.project.create(name="Shop")["slug"]
"""

URLS = ["memory:", "sqlite"]


def run(code: str, tmp_path: Path, url: str) -> subprocess.CompletedProcess[str]:
    """Runs a program, which must end within a minute."""
    url = f"sqlite://{tmp_path}/secrets.db" if url == "sqlite" else url
    return subprocess.run(
        [sys.executable, "-c", BEGIN.format(url=url) + code],
        timeout=60,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(
    "code",
    [
        # Threads that wait for their operations.
        """
def work():
    while True:
        session.project.list()
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
""",
        # An operation that takes seconds.
        """
def work():
    session.account.export_secrets(include_secrets=True, passphrase="correct horse battery")
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
        # Outcomes without a waiting task.
        """
async def main():
    asynchronous = AsyncSession(session._native)
    tasks = [asyncio.ensure_future(asynchronous.project.list()) for _ in range(2000)]
    await asyncio.sleep(0.01)
asyncio.run(main())
""",
        # An event loop in a thread that is still busy.
        """
async def main():
    asynchronous = AsyncSession(session._native)
    while True:
        await asyncio.gather(*(asynchronous.project.list() for _ in range(64)))
threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
time.sleep(0.2)
""",
        "sys.exit(0)",
        "service.close()",
    ],
    ids=["threads", "slow", "outcomes", "loop", "exit", "closed"],
)
def test_a_program_ends_with_work_under_way(code: str, tmp_path: Path, url: str) -> None:
    for _ in range(3):
        ended = run(code, tmp_path, url)
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("url", URLS)
def test_a_call_while_the_interpreter_ends_is_refused(tmp_path: Path, url: str) -> None:
    code = """
import atexit, secrets_service
def late():
    try:
        session.project.list()
    except RuntimeError as error:
        print(error)
# Runs the exit functions, which the package registered.
atexit._run_exitfuncs()
late()
"""
    ended = run(code, tmp_path, url)

    assert ended.stdout.strip() == "the interpreter is ending"


def test_a_program_is_interrupted_while_it_waits(tmp_path: Path) -> None:
    code = """
try:
    print("begins", flush=True)
    while True:
        session.account.export_secrets(include_secrets=True, passphrase="correct horse battery")
except KeyboardInterrupt:
    print("interrupted")
print(session.project.list()[0]["slug"])
"""
    program = subprocess.Popen(
        [sys.executable, "-c", BEGIN.format(url="memory:") + code], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout
    assert program.stdout.readline() == "begins\n"
    time.sleep(0.3)
    program.send_signal(signal.SIGINT)

    said = program.stdout.read()
    assert program.wait(60) == 0
    assert said == "interrupted\nshop\n"


def test_a_signal_handler_calls_while_its_thread_waits(tmp_path: Path) -> None:
    code = """
keys = [f"K{one}" for one in range(1000)]
def work():
    while not is_over.is_set():
        changes = [
            {"action": "set", "environment": "production", "key": key, "value": f"kvc_{time.monotonic()}"}
            for key in keys
        ]
        session.secret.change(project=slug, changes=changes)
def handle(*_):
    # Later than after the first interval in which the thread checks for signals.
    if time.monotonic() - began > 0.1:
        signal.setitimer(signal.ITIMER_REAL, 0)
        session.secret.create(project=slug, environment="staging", key="HANDLED", value="kvc_1")
        handled.append(1)
is_over, began, handled, number = threading.Event(), time.monotonic(), [], 0
signal.signal(signal.SIGALRM, handle)
# Change sets hold the lock of the database, for which the calls below wait.
thread = threading.Thread(target=work)
thread.start()
deadline = time.monotonic() + 20
while not handled and time.monotonic() < deadline:
    number += 1
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    session.secret.create(project=slug, environment="staging", key=f"K{number}", value="kvc_1")
    signal.setitimer(signal.ITIMER_REAL, 0)
is_over.set()
thread.join()
kept = {one["key"] for one in session.secret.list(project=slug, environment="staging")}
print(handled, kept == {"HANDLED"} | {f"K{one + 1}" for one in range(number)})
"""
    ended = run(code, tmp_path, "sqlite")

    assert (ended.stderr, ended.stdout) == ("", "[1] True\n")


# Scan of about 10 seconds, and of its first 0.3 MB.
SCAN = """
import os
from secrets_service import scan
lines = ["TOKEN=ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5\\n"] * 500_000
begin = "".join(lines[:6_000])
"""


def test_a_program_is_interrupted_while_it_scans() -> None:
    # Measures CPU time, because other processes may use the processor.
    code = """
import time
text = "".join(lines)
start = time.process_time()
scan(begin)
complete = (time.process_time() - start) * len(text) / len(begin)
print("begins", flush=True)
start = time.process_time()
try:
    scan(text)
except KeyboardInterrupt:
    used = time.process_time() - start
    print("interrupted", used < complete / 2, len(scan(begin)), flush=True)
"""
    program = subprocess.Popen(
        [sys.executable, "-c", SCAN + code], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout
    assert program.stdout.readline() == "begins\n"
    time.sleep(0.5)

    program.send_signal(signal.SIGINT)

    output, _ = program.communicate(timeout=60)
    assert (program.returncode, output) == (0, "interrupted True 6000\n")


def test_a_child_scans_after_its_parent() -> None:
    code = """
assert len(scan(begin)) == 6_000
child = os.fork()
if child == 0:
    os._exit(0 if len(scan(begin)) == 6_000 else 1)
print(os.waitpid(child, 0)[1], len(scan(begin)))
"""
    ended = subprocess.run(
        [sys.executable, "-c", SCAN + code], capture_output=True, text=True, timeout=30
    )

    assert ended.stderr == "" or "multi-threaded" in ended.stderr
    assert (ended.returncode, ended.stdout) == (0, "0 6000\n")


@pytest.mark.parametrize("url", URLS)
def test_a_forked_process_needs_a_service_of_its_own(tmp_path: Path, url: str) -> None:
    code = """
def work():
    while True:
        session.project.list()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    try:
        session.project.list()
    except RuntimeError as error:
        print(error, flush=True)
    try:
        service.close()
    except RuntimeError as error:
        print("closing too", flush=True)
    own = Service.open("memory:")
    alice = own.sign_in(issuer="here", subject="1", email="a@example.com")
    print(alice.project.create(name="Child")["slug"], flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(session.project.list()[0]["slug"])
"""
    ended = run(code, tmp_path, url)

    assert ended.stderr == "" or "multi-threaded" in ended.stderr
    message = "this service was opened before the process was forked: open one in the child"
    assert ended.stdout.splitlines() == [message, "closing too", "child", "shop"]
    assert ended.returncode == 0


# Holds the write lock of a database until the standard input is closed.
LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_service_closes_while_its_database_is_locked(tmp_path: Path) -> None:
    from secrets_service import Service

    path = tmp_path / "secrets.db"
    service = Service.open(f"sqlite://{path}", root_key=bytes(32))
    session = service.sign_in(issuer="here", subject="1", email="a@example.com")
    token = session.token.create(name="deploy", all_projects=True)["token"]
    # `close` writes the time of the last use of the token.
    service.as_token(token).project.list()
    locker = [sys.executable, "-c", LOCK, path]
    with subprocess.Popen(locker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "locked\n"
        began = time.monotonic()
        service.close()
        # Each of the three steps ends after 5 seconds. Each write would wait 10 seconds for the lock.
        assert time.monotonic() - began < 28


def test_a_file_is_opened_again_once_it_is_closed(tmp_path: Path) -> None:
    from secrets_service import Service

    for round in range(5):
        with Service.open(f"sqlite://{tmp_path}/secrets.db", root_key=bytes(32)) as service:
            session = service.sign_in(issuer="here", subject="1", email="a@example.com")
            session.project.create(name=f"Shop {round}")
            assert len(session.project.list()) == round + 1
    assert os.stat(f"{tmp_path}/secrets.db").st_mode & 0o077 == 0
