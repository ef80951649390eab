"""Runs drills: each drill reaches a limit of the service on purpose, and checks that other clients
are not affected.

Usage: run.py [--long] [DRILL...]

Prints a line for each drill and database, and the numbers of passed and failed runs at the end. The
short form takes about two and a half minutes; `--long` uses larger amounts of data and load, and
checks time limits. `docs/drills.md` describes the drills.
"""

import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import audit
import coherence
import deletion
import failing
import fairness
import kill
import linearizable
import network
import rolling
import stops
import tampered
from world import Postgres, Sqlite, program

# Drills that mostly wait: for a worker that begins a minute after the start, or for the timeouts of
# deliveries. In the short form, they run concurrently with the other drills.
WAITING = {"deletion", "retention", "poisoned", "receiver"}

# Maximum number of drills of `WAITING` that run at the same time. The starts of more would overload two cores.
MAX_WAITING = 4

DRILLS = {
    "memory": (fairness.memory, [Sqlite, Postgres]),
    "hostile": (fairness.hostile, [Sqlite, Postgres]),
    "retention": (audit.retention, [Sqlite, Postgres]),
    "lists": (audit.lists, [Sqlite, Postgres]),
    "refused": (audit.refused, [Sqlite, Postgres]),
    "deletion": (deletion.deletion, [Sqlite, Postgres]),
    "poisoned": (failing.poisoned, [Sqlite, Postgres]),
    "receiver": (failing.receiver, [Sqlite, Postgres]),
    "flood": (network.flood, [Sqlite]),
    "silent": (network.silent, [Sqlite]),
    "terminate": (stops.terminate, [Sqlite, Postgres]),
    "kill": (kill.kill, [Sqlite, Postgres]),
    "rolling": (rolling.rolling, [Postgres]),
    "upgrade": (rolling.upgrade, [Postgres]),
    "coherence": (coherence.coherence, [Postgres]),
    "linearizable": (linearizable.linearizable, [Sqlite, Postgres]),
    "tampered": (tampered.tampered, [Sqlite, Postgres]),
    "replayed": (tampered.replayed, [Sqlite, Postgres]),
}


class Drill:
    """Run of a drill: its database, its form (short or long), and the measurements that
    are printed."""

    def __init__(self, database, is_long):
        self.database, self.is_long, self.figures = database, is_long, []
        # Time limits apply only to the release build.
        self.is_release = "release" in str(program())

    def size(self, short, long):
        return long if self.is_long else short

    def note(self, text):
        self.figures.append(text)

    def bound(self, what, seconds, limit):
        """Records a duration in seconds. Fails if the duration exceeds the limit, but only in the
        long form with the release build."""
        self.note(f"{what} {seconds * 1000:.0f} ms")
        if self.is_long and self.is_release:
            assert seconds <= limit, f"{what}: {seconds:.3f} s, limit {limit} s"


def main(arguments):
    is_long = "--long" in arguments
    names = [name for name in arguments if name != "--long"] or list(DRILLS)
    if unknown := set(names) - set(DRILLS):
        sys.exit(f"unknown drills: {', '.join(sorted(unknown))}; drills: {', '.join(DRILLS)}")
    print(f"program: {program()}, load {os.getloadavg()[0]:.1f}")
    runs = [(name, kind) for name in names for kind in DRILLS[name][1]]
    beside = [run for run in runs if run[0] in WAITING and not is_long]
    with ThreadPoolExecutor(MAX_WAITING) as executor:
        waiting = [executor.submit(perform, *run, is_long) for run in beside]
        results = [perform(*run, is_long) for run in runs if run not in beside]
        results += [future.result() for future in waiting]
    print(f"drills: {sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


def perform(name, kind, is_long):
    """Runs a drill with a new database of this kind. Prints the measurements of the drill, and
    returns true if the drill passed."""
    begin = time.monotonic()
    drill, result = Drill(kind(name), is_long), "ok"
    try:
        DRILLS[name][0](drill)
    except Exception:
        result = "FAILED"
        traceback.print_exc()
    finally:
        drill.database.remove()
    seconds = time.monotonic() - begin
    print(f"{name} ({kind.kind}): {result} ({seconds:.0f} s) {'; '.join(drill.figures)}", flush=True)
    return result == "ok"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
