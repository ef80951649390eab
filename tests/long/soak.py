"""Long run of the service under load, which checks that its memory does not grow. See `tests/long/soak`."""

import argparse
import csv
import os
import re
import shutil
import sys
import time
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "drills"))
# First, because it makes the module `program` available.
from world import TARGET, Node, Postgres, Sqlite, program  # noqa: E402, I001
from soak_load import ACCOUNTS, ENVIRONMENTS, KEYS, Account, Load, duration  # noqa: E402
from soak_report import Trend, chart  # noqa: E402

KINDS = {"sqlite": Sqlite, "postgres": Postgres}
SAMPLE_INTERVAL = 5
# Time in which histories reach their limits, and buffers the sizes that the load needs.
WARM_UP = 1_200
# Part of its maximum size at which the cache of records is full, and time in seconds in which it must be.
FULL, FILL_TIMEOUT = 0.95, 300
# A shorter run measures mostly caches that are filled and histories that reach their limits.
MIN_MINUTES = 40
# Steps of the search for the knee: connections, each with one request at a time.
STEPS = [2, 4, 8, 16, 32, 64]
STEP_TIME, STEP_WARM_UP = 6, 2
CONNECTIONS = 64
MIB = 1 << 20
# Growth of descriptors and threads per hour that is not reported.
COUNT_BOUND = 10


def main():
    options = parse()
    if "SECRETS_DRILL_PROGRAM" not in os.environ and "release" not in str(program()):
        sys.exit("tests/long/soak: no release build: cargo build --release -p secrets-http")
    options.output.mkdir(parents=True, exist_ok=True)
    print(f"program: {program()}, load {os.getloadavg()[0]:.1f}", flush=True)
    names = options.database or [name for name in KINDS if name == "sqlite" or os.environ.get("SECRETS_TEST_POSTGRES_URL")]
    results = [perform(KINDS[name], options) for name in names]
    sys.exit(0 if all(results) else 1)


def parse():
    parser = argparse.ArgumentParser(prog="tests/long/soak", description="Run the service under load, and check that its memory does not grow.")
    parser.add_argument("--minutes", type=float, default=60, help="duration of the load on each database, after the search for the knee; default: 60")
    parser.add_argument("--rate", type=float, help="requests per second; default: half of the throughput at the knee, which is measured first")
    parser.add_argument("--bound", type=float, default=2, help="growth in MiB per hour that is permitted; default: 2")
    parser.add_argument("--permit-busy", action="store_true", help="do not fail if the service is too busy for a request (503), for a machine that does other work")
    parser.add_argument("--output", type=Path, default=TARGET / "soak", help="folder of the results; default: soak in the target folder")
    parser.add_argument("database", nargs="*", metavar="sqlite|postgres", help="default: sqlite, and postgres if SECRETS_TEST_POSTGRES_URL is set")
    options = parser.parse_args()
    if unknown := set(options.database) - set(KINDS):
        parser.error(f"unknown databases: {', '.join(sorted(unknown))}")
    return options


def perform(kind, options):
    """Runs the load on a new database of this kind. Prints the result, writes it to a file, and
    returns true if nothing failed and nothing grows."""
    database, lines = kind("soak"), []

    def note(text):
        lines.append(text)
        print(f"{kind.kind}: {text}", flush=True)

    try:
        passed = soak(database, options, note)
    except Exception as error:
        traceback.print_exc()
        note(str(error))
        passed = False
    finally:
        database.remove()
    if passed and kind is Sqlite:
        shutil.rmtree(database.path.parent)
    note("ok" if passed else "FAILED")
    (options.output / f"{kind.kind}.txt").write_text("".join(f"{line}\n" for line in lines))
    return passed


def soak(database, options, note):
    with Node(database) as node:
        accounts = [Account(node, number) for number in range(ACCOUNTS)]
        rate = options.rate or knee(node, accounts, note) / 2
        fill_cache(node, accounts, note)
        note(f"load of {rate:.0f} requests/s for {options.minutes:g} minutes")
        with Load(node.address, accounts, CONNECTIONS, rate, options.permit_busy) as load:
            samples, warnings = sample(node, database, load, options)
            times, responses, delay, busy = load.stop(), load.responses(), load.delay(), load.busy()
        check_secrets(node, accounts)
        node.terminate()
    note(f"{responses:.0f} requests, all with the expected status, and {busy:.0f} with 503; p50 {duration(times, 0.5):.1f} ms, "
         f"p99 {duration(times, 0.99):.1f} ms, slowest {duration(times, 1):.0f} ms; sent at most {delay:.2f} s late")
    note(f"database of {samples[0]['database_mib']:.0f} MiB at the begin and {samples[-1]['database_mib']:.0f} MiB at the end, "
         f"because each read of a value is recorded in the audit log; log of {node.log.stat().st_size / MIB:.0f} MiB with "
         f"{len(warnings)} warnings and errors{''.join(f'; {line}' for line in warnings[:3])}")
    node.log.unlink()
    return report(database.kind, samples, rate, options, note)


def knee(node, accounts, note):
    """Returns the throughput at the knee: that of the fewest connections with at least 95 % of the
    largest throughput."""
    rates, busy = {}, 0
    for connections in STEPS:
        # With many connections, the service may refuse requests that have waited for too long.
        with Load(node.address, accounts, connections, rate=None, may_be_busy=True) as load:
            time.sleep(STEP_WARM_UP)
            load.check()
            begin, before = time.monotonic(), load.responses()
            time.sleep(STEP_TIME)
            rates[connections] = (load.responses() - before) / (time.monotonic() - begin)
            load.stop()
            busy += load.busy()
    note("throughput in requests/s by connections: " + ", ".join(f"{count}: {rate:.0f}" for count, rate in rates.items())
         + f"; the service was too busy for {busy:.0f} requests")
    found = next(count for count in STEPS if rates[count] >= 0.95 * max(rates.values()))
    note(f"knee at {found} connections, {rates[found]:.0f} requests/s, with the load on the same machine")
    return rates[found]


def fill_cache(node, accounts, note):
    """Looks up missing keys until the cache of records, which also holds those, is full. The load would
    fill it so slowly that it could not be told from a leak."""
    begin = time.monotonic()
    with Load(node.address, accounts, CONNECTIONS, rate=None, may_be_busy=True, shares={"missing_key": 1}) as load:
        while node.gauge("secrets_cache_bytes") < FULL * node.gauge("secrets_cache_max_bytes"):
            load.check()
            assert time.monotonic() - begin < FILL_TIMEOUT, "the cache of records does not become full"
            time.sleep(1)
        load.stop()
        count = load.responses()
    note(f"the cache of records was full after {count:.0f} lookups of missing keys, in {time.monotonic() - begin:.0f} s")


def sample(node, database, load, options):
    """Measures the process of the service until the end of the load, and writes the samples to a
    file. Returns the samples, and the warnings and errors in the log of the service."""
    samples, warnings, begin = [], [], time.monotonic()
    with (options.output / f"{database.kind}.csv").open("w", newline="") as file, node.log.open() as log:
        # The search for the knee may have caused warnings.
        log.seek(0, os.SEEK_END)
        while (moment := time.monotonic() - begin) < options.minutes * 60:
            load.check()
            assert node.process.poll() is None, f"the program ended: {node.log}"
            samples.append({"seconds": round(moment, 1), **measured(node.process.pid), "requests": int(load.responses()),
                            "database_mib": round(size(database), 1)})
            writer = csv.DictWriter(file, samples[0])
            if len(samples) == 1:
                writer.writeheader()
            writer.writerow(samples[-1])
            file.flush()
            # The log has a line for each request, so it is read piece by piece.
            text = log.read()
            assert "kvc_" not in text, f"the log contains a value: {node.log}"
            warnings += re.findall(r"^\S+ +((?:WARN|ERROR) .{0,200})", text, re.MULTILINE)
            time.sleep(max(len(samples) * SAMPLE_INTERVAL - (time.monotonic() - begin), 0))
    load.check()
    return samples, warnings


def measured(pid):
    """Returns the memory in MiB, the threads, the open file descriptors and the processor time of a
    process."""
    status = dict(re.findall(r"^(\w+):\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
    # utime and stime of proc(5), after the name of the program, which may contain spaces
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return {
        "VmRSS": round(int(status["VmRSS"]) / 1024, 2), "RssAnon": round(int(status["RssAnon"]) / 1024, 2),
        "threads": int(status["Threads"]), "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "cpu_seconds": ticks / os.sysconf("SC_CLK_TCK"),
    }


def size(database):
    """Returns the size of a database in MiB."""
    if database.kind == "sqlite":
        return sum(file.stat().st_size for file in database.path.parent.iterdir()) / MIB
    return database.run("SELECT pg_database_size(current_database())")[0][0] / MIB


def check_secrets(node, accounts):
    """Fails if an environment does not have as many secrets as before the load."""
    for account in accounts:
        client = node.client(account.reader)
        for project in account.projects:
            for environment in [*ENVIRONMENTS, "preview"]:
                listed = client.ok("GET", f"{project}/environments/{environment}/secrets")["secrets"]
                assert len(listed) == KEYS, f"{len(listed)} secrets in {environment}"


def report(kind, samples, rate, options, note):
    """Prints the trend of each series after the warm-up, and writes the chart. Returns false if a
    series grows, but not for a short run."""
    warm_up = min(WARM_UP, options.minutes * 60 / 3)
    times = [one["seconds"] for one in samples]
    names = {"VmRSS": (options.bound, "MiB"), "RssAnon": (options.bound, "MiB"),
             "descriptors": (COUNT_BOUND, "descriptors"), "threads": (COUNT_BOUND, "threads")}
    series = {name: [one[name] for one in samples] for name in names}
    begin = next(index for index, moment in enumerate(times) if moment >= warm_up)
    trends = {name: Trend(times[begin:], values[begin:]) for name, values in series.items()}
    for name, (bound, unit) in names.items():
        after = series[name][begin:]
        note(f"{name}: {min(after):g} to {max(after):g} after {warm_up / 60:g} min; {trends[name].verdict(bound, unit)}")
    growth = trends["RssAnon"].slope + trends["RssAnon"].error
    note(f"RssAnon grows by at most {growth * MIB / 3600 / rate:.2f} bytes per request (upper end of the interval)")
    title = f"secrets-http on {kind}, {rate:.0f} requests/s"
    (options.output / f"{kind}.svg").write_text(chart(title, times, series, warm_up, trends))
    if options.minutes < MIN_MINUTES:
        note(f"a run of less than {MIN_MINUTES} minutes does not fail because of growth")
        return True
    return not any(trends[name].grows(bound) for name, (bound, _) in names.items())


if __name__ == "__main__":
    main()
