"""Prints new entries of the audit log, one JSON object per line, for a log collector.

SECRETS_URL=https://secrets.example.com SECRETS_TOKEN=cli_... python examples/python/follow_audit.py STATE [--once]

STATE is a file in which the program stores its position in the log between runs. The first run begins with the
entries of 30 days ago. With `--once`, the program ends after the newest entry, for use with cron; otherwise, it
requests new entries every 10 seconds. Uses only the standard library.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

POLL_INTERVAL = 10
# An entry can appear a little later than one with a newer time, because operations run at the same time.
OVERLAP = timedelta(minutes=2)


def page(query: dict[str, str]) -> dict[str, Any]:
    url = f"{os.environ['SECRETS_URL']}/api/v1/audit?{urlencode(query)}"
    request = Request(url, headers={"Authorization": f"Bearer {os.environ['SECRETS_TOKEN']}"})
    while True:
        try:
            with urlopen(request, timeout=60) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except HTTPError as error:
            if error.code not in (429, 503):
                sys.exit(f"{error.code}: {error.read().decode()}")
            seconds = error.headers.get("Retry-After", "")
            # A proxy may send a date, or no time at all.
            time.sleep(max(1, int(seconds)) if seconds.isdecimal() else POLL_INTERVAL)
        except (OSError, HTTPException) as error:
            # The service cannot be reached, or ends while it responds, for example for a restart.
            if "--once" in sys.argv[2:]:
                sys.exit(f"{error}")
            time.sleep(POLL_INTERVAL)


def pages(state: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Reads the audit log, page by page, from the time that the state contains up to the newest entry."""
    query = {"order": "asc", "limit": "200"}
    if state:
        query["from"] = state["from"]
    while True:
        answer = page(query)
        yield answer["logs"]
        # A page can be short or empty and still have a cursor.
        if "next_cursor" not in answer:
            return
        query["cursor"] = answer["next_cursor"]


def advanced(state: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the state to store after these entries were read. It contains the IDs of the newest entries,
    which the next request returns again, so that they are not printed twice."""
    times = {**state.get("seen", {}), **{entry["id"]: entry["created_at"] for entry in entries}}
    if not times:
        return state
    parsed = {id: datetime.fromisoformat(at.replace("Z", "+00:00")) for id, at in times.items()}
    start = max(parsed.values()) - OVERLAP
    seen = {id: times[id] for id, at in parsed.items() if at >= start}
    return {"from": start.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "seen": seen}


path = Path(sys.argv[1])
state = json.loads(path.read_text()) if path.exists() else {}
while True:
    for entries in pages(state):
        for entry in entries:
            if entry["id"] not in state.get("seen", {}):
                print(json.dumps(entry), flush=True)
        state = advanced(state, entries)
        # Written after the entries are printed: a crash in between repeats entries, and loses none.
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(state))
        temporary.replace(path)
    if "--once" in sys.argv[2:]:
        break
    time.sleep(POLL_INTERVAL)
