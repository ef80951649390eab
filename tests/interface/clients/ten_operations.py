"""Ten operations through the Python client that openapi-python-client generates from the document.

Usage: ten_operations.py ADDRESS CREDENTIAL. Prints a line for each operation.
"""

import sys

from secrets_client import AuthenticatedClient
from secrets_client.api.environments import list_environments
from secrets_client.api.projects import create_project, get_project, list_projects
from secrets_client.api.secrets import create_secret, get_secret, list_secrets, update_secret
from secrets_client.api.service_tokens import create_token
from secrets_client.api.users import get_current_user
from secrets_client.models import (
    CreateProjectRequest,
    CreateSecretRequest,
    CreateTokenRequest,
    Error,
    Project,
    UpdateSecretRequest,
)


def main(address: str, credential: str) -> None:
    client = AuthenticatedClient(base_url=address, token=credential, raise_on_unexpected_status=True)

    user = get_current_user.sync(client=client)
    assert user is not None and not isinstance(user, Error), user
    # The comparison narrows the union type of `user`.
    assert user.auth_type == "user" and "@" in user.email, user
    print("getCurrentUser", user.auth_type)

    made = create_project.sync(client=client, body=CreateProjectRequest(name="Python"))
    assert made is not None and not hasattr(made, "error"), made
    print("createProject", made.slug)

    listed = list_projects.sync(client=client)
    assert listed is not None and not isinstance(listed, Error), listed
    projects: list[Project] = listed.projects
    assert made.id in [project.id for project in projects]
    print("listProjects", len(projects))

    got = get_project.sync(made.slug, client=client)
    assert got is not None and not isinstance(got, Error), got
    print("getProject", got.name)

    environments = list_environments.sync(made.slug, client=client)
    assert environments is not None and not isinstance(environments, Error), environments
    assert [one.name for one in environments.environments][2] == "production"
    print("listEnvironments", len(environments.environments))

    body = CreateSecretRequest(key="URL", value="kvc_one")
    created = create_secret.sync(made.slug, "production", client=client, body=body)
    assert created is not None and not hasattr(created, "error"), created
    print("createSecret")

    changed = update_secret.sync(
        made.slug, "production", "URL", client=client, body=UpdateSecretRequest(value="kvc_two"))
    assert changed is not None and not hasattr(changed, "error"), changed
    assert changed.secret.version == 2
    print("updateSecret", changed.secret.version)

    read = get_secret.sync(made.slug, "production", "URL", client=client)
    assert read is not None and not isinstance(read, Error), read
    value: str = read.secret.value
    assert value == "kvc_two"
    print("getSecret")

    keys = list_secrets.sync(made.slug, "production", client=client)
    assert keys is not None and not isinstance(keys, Error), keys
    assert [one.key for one in keys.secrets] == ["URL"]
    print("listSecrets", len(keys.secrets))

    token = create_token.sync(
        client=client, body=CreateTokenRequest(name="reader", project_ids=[made.slug]))
    assert token is not None and not hasattr(token, "error"), token
    print("createToken")

    # Errors have types, too.
    unknown = get_secret.sync(made.slug, "production", "NONE", client=client)
    assert isinstance(unknown, Error) and unknown.code == "not_found", unknown


if __name__ == "__main__":
    main(*sys.argv[1:])
