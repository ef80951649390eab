"""The behavioural cases of tests/cases (calls and their expected results), run with the embedded
service and over HTTP. Over HTTP, some run with both response formats: named fields only, and named
fields plus ``data``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from program import ISSUER, ROOT, jwt
from secrets_service import Client, SecretsError, Service, Session

FOLDER = ROOT / "tests/cases/data"

Steps = list[dict[str, Any]]
Variables = dict[str, Any]


class Case:
    """Behavioural case of a file: the names of its users, its preparing calls (``given``), and its
    own calls (``steps``)."""

    def __init__(self, number: int, file: dict[str, Any], case: dict[str, Any], each: Variables):
        self.number, self.each = number, each
        self.people: list[str] = file.get("people", ["alice"])
        self.given: Steps = file.get("given", [])
        self.steps: Steps = case.get("steps", [case])
        self.name = f"{number}: {case['name']}"


def cases() -> Iterator[Case]:
    number = 0
    for path in sorted(FOLDER.glob("*.json")):
        file = json.loads(path.read_text())
        for case in file["cases"]:
            for each in case.get("each", [{}]):
                number += 1
                yield Case(number, file, case, each)


CASES = list(cases())


class Host:
    """Signed-in users of a case, and the variables that the calls of the case may use."""

    def __init__(self, sign_in: Callable[[str], Any], machine: Callable[[str], Any], case: Case):
        self.machine = machine
        self.variables: Variables = {"n": case.number, **case.each}
        self.people = {}
        for name in case.people:
            subject = f"{name}-{case.number}"
            self.people[name] = sign_in(subject)
            me = self.people[name].user.me()
            self.variables[name] = me["id"]
            self.variables[f"{name}.team"] = me["teams"][0]["team_id"]
            self.variables[f"{name}.email"] = f"{subject}@example.com"

    def run(self, step: dict[str, Any]) -> None:
        who = filled(step.get("as", "alice"), self.variables)
        session = self.people[who] if who in self.people else self.machine(who)
        input = filled(step.get("with", {}), self.variables)
        try:
            output = session.call(step["call"], input)
        except SecretsError as error:
            assert "fails" in step, f"{step['call']}: {error.kind} ({error.code}): {error}"
            self.refused(step["fails"], error)
            return
        assert "fails" not in step, f"{step['call']} gives {json.dumps(output)}"
        # No output has the field `data`, which a service with SECRETS_ENVELOPE=both adds.
        assert not isinstance(output, dict) or "data" not in output, step["call"]
        if "gives" in step:
            match(output, filled(step["gives"], self.variables), step["call"])
        for name, place in step.get("keep", {}).items():
            self.variables[name] = at(output, place)

    def refused(self, fails: dict[str, Any], error: SecretsError) -> None:
        assert error.kind == fails["kind"], f"{error.kind}: {error}"
        if "code" in fails:
            assert error.code == fails["code"]
        if "fields" in fails:
            fields = filled(fails["fields"], self.variables)
            assert [field["field"] for field in error.fields] == fields


def at(output: Any, place: str) -> Any:
    for name in place.split(".") if place else []:
        output = output[int(name)] if isinstance(output, list) else output[name]
    return output


def filled(given: Any, variables: Variables) -> Any:
    """Returns an input with the values of the variables in place of ``$name`` and ``${name}``."""
    if isinstance(given, list):
        return [filled(one, variables) for one in given]
    if isinstance(given, dict):
        if "$repeat" in given:
            return filled(given["$repeat"], variables) * given["times"]
        return {name: filled(one, variables) for name, one in given.items()}
    if not isinstance(given, str):
        return given
    if given.startswith("$") and not given.startswith(("$$", "${")) and given not in WILD:
        return variables[given[1:]]

    def text(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else str(variables[found[1]])

    return re.sub(r"\$\$|\$\{([^}]*)\}", text, given)


def is_uuid(output: Any) -> bool:
    return isinstance(output, str) and str(UUID(output)) == output


def is_time(output: Any) -> bool:
    return isinstance(output, str) and datetime.fromisoformat(output.replace("Z", "+00:00")) is not None


WILD: dict[str, Callable[[Any], bool]] = {
    "$any": lambda output: output is not None,
    "$uuid": is_uuid,
    "$time": is_time,
    "$absent": lambda output: False,
}


def match(output: Any, expected: Any, place: str) -> None:
    if isinstance(expected, str) and expected in WILD:
        assert WILD[expected](output), f"{place} is {output!r}"
    elif isinstance(expected, dict):
        assert isinstance(output, dict), f"{place} is {output!r}"
        for name, one in expected.items():
            if one == "$absent":
                assert name not in output, f"{place}.{name} is {output[name]!r}"
                continue
            assert name in output, f"{place} has no {name}"
            match(output[name], one, f"{place}.{name}")
    elif isinstance(expected, list):
        assert isinstance(output, list), f"{place} is {output!r}"
        assert len(output) == len(expected), f"{place} is {output!r}"
        for index, (one, other) in enumerate(zip(output, expected)):
            match(one, other, f"{place}.{index}")
    else:
        assert output == expected, f"{place} is {output!r}"


@pytest.fixture(scope="module", params=["embedded", "client"])
def host(request: pytest.FixtureRequest) -> Callable[[Case], Host]:
    if request.param == "embedded":
        service: Service = request.getfixturevalue("embedded")

        def here(subject: str) -> Session:
            return service.sign_in(issuer=ISSUER, subject=subject, email=f"{subject}@example.com")

        return lambda case: Host(here, service.as_token, case)
    return of_clients(request.getfixturevalue("program").url)


def of_clients(url: str) -> Callable[[Case], Host]:
    def there(subject: str) -> Client:
        session = Client(url, token=jwt(subject))
        session.user.sync()
        return session

    return lambda case: Host(there, lambda token: Client(url, token=token), case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_comes_out_as_it_is_written(host: Callable[[Case], Host], case: Case) -> None:
    asked = host(case)
    for step in (*case.given, *case.steps):
        asked.run(step)


def first_calls() -> Iterator[Case]:
    """Yields each case that successfully calls an operation which no earlier case
    calls. Together, these few cases call all operations."""
    called: set[str] = set()
    for case in CASES:
        gives = {step["call"] for step in (*case.given, *case.steps) if "fails" not in step}
        if gives - called:
            called |= gives
            yield case


@pytest.mark.parametrize("case", list(first_calls()), ids=lambda case: case.name)
def test_a_case_comes_out_the_same_with_both_envelopes(both: Any, case: Case) -> None:
    asked = of_clients(both.url)(case)
    for step in (*case.given, *case.steps):
        asked.run(step)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 300
