"""Tests of the client with a service whose responses also have the field ``data``."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from conftest import name
from program import TARGET, jwt
from secrets_service import AsyncClient, Client
from test_types import run

# Names, UUIDs, times, tokens, cursors and addresses, which differ between users.
VARYING = re.compile(
    r"person-\w+|\w+-\w{4}-\w{4}-\w{4}-\w{12}|\d{4}-\d\d-\d\dT[\d:.]+Z"
    r'|env_\w{8,}|"[\w-]{32}"|\d+\.\d+\.\d+\.\d+(:\d+)?'
)
# Hashes of audit entries. The service adds the hashes a moment after it has stored the entries.
SEALED = re.compile(r', "hash": "\w{64}", "prev_hash": "\w{64}"')

# Operations that are called as a user, with their inputs.
PROJECT = {"project": "$project"}
AT = PROJECT | {"environment": "staging"}
TEAM = {"team": "$team"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("user.me", {}),
    ("project.get", PROJECT),
    ("project.update", PROJECT | {"description": "kvc_text"}),
    ("project.list", {}),
    ("environment.create", PROJECT | {"name": "data"}),
    ("environment.get", AT),
    ("environment.list", PROJECT),
    ("secret.create", AT | {"key": "data", "value": "kvc_1"}),
    ("secret.import", AT | {"secrets": [{"key": "URL", "value": "kvc_2"}]}),
    ("secret.update", AT | {"key": "URL", "value": "kvc_3"}),
    ("secret.get", AT | {"key": "data"}),
    ("secret.list", AT),
    ("secret.export", AT),
    ("secret.export", AT | {"format": "json"}),
    ("secret.history", AT | {"key": "URL"}),
    ("rotation.list", AT),
    ("permission.mine", PROJECT),
    ("scan.list", PROJECT),
    ("team.create", {"name": "data"}),
    ("team.get", TEAM),
    ("team.list", {}),
    ("invitation.list", TEAM),
    ("invitation.mine", {}),
    ("usage.get", TEAM),
    ("token.create", {"name": "data", "project_ids": ["$project"]}),
    ("token.list", {}),
    ("audit.list", {"order": "asc", "limit": 5}),
    ("audit.list", {"key": "none"}),
    ("account.get", {}),
    ("account.export", {}),
    ("cli_session.list", {}),
]
CALLS_OF_A_TOKEN: list[tuple[str, dict[str, Any]]] = [
    ("user.me", {}),
    ("eso.secret", {"project": "$project", "env": "staging", "key": "data"}),
    ("eso.secrets", {"project": "$project", "env": "staging"}),
    ("secret.get", AT | {"key": "data"}),
]


def outputs(url: str) -> list[tuple[str, Any]]:
    """Calls the operations in ``CALLS`` as a new user, and those in ``CALLS_OF_A_TOKEN`` with a
    service token of that user. Returns the name and the output of each operation."""
    person, made = name(), []
    with Client(url, token=jwt(person)) as session:
        made.append(("user.sync", session.user.sync()))
        made.append(("project.create", session.project.create(name=person)))
        team = session.user.me()["teams"][0]["team_id"]
        places = {"$project": made[-1][1]["slug"], "$team": team}

        def called(session: Client, operation: str, input: dict[str, Any]) -> tuple[str, Any]:
            text = json.dumps(input)
            for place, value in places.items():
                text = text.replace(place, value)
            return operation, session.call(operation, json.loads(text))

        made += [called(session, *call) for call in CALLS]
        passphrase = {"type": "passphrase", "passphrase": "correct horse battery staple"}
        # Compares only the names of the fields, because the text is encrypted.
        bundle = called(session, "secret.bundle", AT | {"recipients": [passphrase]})[1]
        made.append(("secret.bundle", sorted(bundle)))
    token = dict(made)["token.create"]["token"]
    with Client(url, token=token) as machine:
        made += [called(machine, *call) for call in CALLS_OF_A_TOKEN]
    return made


def test_both_envelopes_give_the_same_outputs(program: Any, both: Any) -> None:
    named, doubled = outputs(program.url), outputs(both.url)

    for (operation, expected), (_, found) in zip(named, doubled, strict=True):
        texts = [VARYING.sub("…", SEALED.sub("", json.dumps(one))) for one in (expected, found)]
        assert texts[0] == texts[1], operation
        assert type(found) is type(expected), operation
        assert not isinstance(found, dict) or "data" not in found, operation
    assert dict(doubled)["secret.get"]["value"] == "kvc_1"
    assert dict(doubled)["eso.secrets"] == {"secrets": {"data": "kvc_1", "URL": "kvc_3"}}


def test_the_asyncio_client_reads_both_envelopes(both: Any) -> None:
    async def create() -> Any:
        async with AsyncClient(both.url, token=jwt(name())) as session:
            await session.user.sync()
            return await session.project.create(name="Shop"), await session.audit.list()

    for output in asyncio.run(create()):
        assert "data" not in output


def test_no_output_has_a_field_data() -> None:
    """No schema has a field ``data``, because the client removes this field from every response."""
    named = json.loads(run(TARGET / "debug/secrets-http", "openapi").stdout)["components"]["schemas"]
    assert [one for one, schema in named.items() if "data" in schema.get("properties", {})] == []
