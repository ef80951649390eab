"""Tests of the Helm chart. They render it with Helm's engine, and validate the result
with the schemas of Kubernetes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import helm_python
import known
import kubernetes_validate
import pytest
import yaml
from program import ROOT

CHART = known.DEPLOY / "helm/secrets"

# Versions of Kubernetes: the oldest that the chart allows, and the newest with schemas.
OLDEST, NEWEST = "1.30", kubernetes_validate.latest_version()

REQUIRED = {
    "image": {"repository": "registry.example.com/secrets"},
    "settings": {"jwt_issuer": "https://login.example.com", "jwt_audience": "secrets"},
}
EVERYTHING = {
    "replicas": 3,
    "strategy": "RollingUpdate",
    "image": REQUIRED["image"] | {"tag": "1.2.3", "pullSecrets": [{"name": "registry"}]},
    "settings": REQUIRED["settings"] | {
        "rate_limit_per_principal": 10_000_000,
        "log": "debug",
        "metrics_listen": "0.0.0.0:9090",
        "epoch_path": "/var/lib/secrets-epoch/epoch",
    },
    "secretSettings": {"smtp_url": {"secret": "mail", "key": "url"}},
    "configMap": "plans",
    "tlsSecret": "inner",
    "trustedCertificates": {"configMap": "authorities"},
    "extraEnv": [{"name": "AWS_REGION", "value": "eu-central-1"}],
    "extraVolumes": [{"name": "epoch", "persistentVolumeClaim": {"claimName": "epoch"}}],
    "extraVolumeMounts": [{"name": "epoch", "mountPath": "/var/lib/secrets-epoch"}],
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "16m"},
        "host": "secrets.example.com",
        "tlsSecret": "outer",
    },
    "serviceAccount": {"annotations": {"role": "rotations"}},
    "networkPolicy": {
        "from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "egress": [{"ports": [{"port": 8443}]}],
    },
    "podAnnotations": {"a": "b"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}
NOTHING_OPTIONAL = REQUIRED | {
    "replicas": 1,
    "serviceAccount": {"name": "existing"},
    "networkPolicy": {"enabled": False},
}


VOLUME = {"name": "epoch", "persistentVolumeClaim": {"claimName": "epoch"}}
MOUNT = {"name": "epoch", "mountPath": "/epochs"}


def with_epoch(path: str, **more: Any) -> dict[str, Any]:
    """Returns values with the setting `epoch_path`, and with `more` values."""
    return REQUIRED | {"settings": REQUIRED["settings"] | {"epoch_path": path}} | more


@pytest.fixture(scope="module")
def chart() -> Iterator[helm_python.Chart]:
    with helm_python.Chart.load(CHART) as loaded:
        yield loaded


def render(chart: helm_python.Chart, values: dict[str, Any]) -> dict[str, Any]:
    """Renders the chart, after checking the values against the chart's schema. Returns the
    manifests by kind."""
    chart.validate_schema(values)
    texts = chart.render(values, name="demo", namespace="prod")
    texts.pop("secrets/templates/NOTES.txt")
    manifests = [yaml.safe_load(text) for text in texts.values()]
    return {manifest["kind"]: manifest for manifest in manifests if manifest}


def container(manifests: dict[str, Any]) -> dict[str, Any]:
    only: dict[str, Any]
    (only,) = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    return only


def environment(manifests: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container(manifests)["env"]}


@pytest.mark.parametrize("values", [REQUIRED, EVERYTHING, NOTHING_OPTIONAL])
def test_the_chart_passes_the_linter(values: dict[str, Any]) -> None:
    report = helm_python.lint(CHART, values, strict=True)

    assert report["errors"] == []
    assert [message["error"] for message in report["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("values", [REQUIRED, EVERYTHING, NOTHING_OPTIONAL])
def test_rendered_manifests_match_the_schemas_of_kubernetes(
    chart: helm_python.Chart, values: dict[str, Any], version: str
) -> None:
    for manifest in render(chart, values).values():
        kubernetes_validate.validate(manifest, version, strict=True)


def test_optional_manifests_depend_on_the_values(chart: helm_python.Chart) -> None:
    always = {"Deployment", "Service"}
    default = always | {"NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"}

    assert render(chart, NOTHING_OPTIONAL).keys() == always
    assert render(chart, REQUIRED).keys() == default
    assert render(chart, EVERYTHING).keys() == default | {"Ingress"}


@pytest.mark.parametrize("values", [REQUIRED, EVERYTHING])
def test_the_container_gets_only_settings_of_the_program(
    chart: helm_python.Chart, values: dict[str, Any]
) -> None:
    others = {"AWS_REGION", "SSL_CERT_FILE"} if values is EVERYTHING else set()

    assert environment(render(chart, values)).keys() - known.variables() == others


def test_the_values_in_the_documentation_are_valid(chart: helm_python.Chart) -> None:
    page = (ROOT / "docs/deploying.md").read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    values, epoch = [yaml.safe_load(block) for block in blocks]
    both = values | epoch | {"settings": values["settings"] | epoch["settings"]}

    for manifest in [*render(chart, values).values(), *render(chart, both).values()]:
        kubernetes_validate.validate(manifest, NEWEST, strict=True)


def test_large_numbers_have_no_exponent(chart: helm_python.Chart) -> None:
    assert environment(render(chart, EVERYTHING))["SECRETS_RATE_LIMIT_PER_PRINCIPAL"] == "10000000"


def test_the_schema_of_the_values_has_every_setting() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    # The chart sets these two settings from `tlsSecret`.
    plain = known.keys(secret=False) - {"tls_cert", "tls_key"}

    assert schema["settings"]["properties"].keys() == plain
    assert schema["secretSettings"]["properties"].keys() == known.keys(secret=True)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({}, "/settings/jwt_issuer"),
        (REQUIRED | {"image": {"repository": ""}}, "/image/repository"),
        (REQUIRED | {"settings": REQUIRED["settings"] | {"listn": "a"}}, "listn"),
        (REQUIRED | {"settings": REQUIRED["settings"] | {"root_key": "a"}}, "root_key"),
        (REQUIRED | {"ingress": {"enabled": True}}, "/ingress/host"),
        (REQUIRED | {"replica": 1}, "replica"),
        (REQUIRED | {"extraEnv": [{"name": "SECRETS_LOG", "value": "a"}]}, "/extraEnv/0/name"),
        (REQUIRED | {"extraEnv": [{"name": "SSL_CERT_FILE"}]}, "/extraEnv/0/name"),
        (REQUIRED | {"trustedCertificates": {"secret": "a"}}, "trustedCertificates"),
        (REQUIRED | {"extraVolumes": [{"name": "tmp"}]}, "/extraVolumes/0/name"),
        (REQUIRED | {"extraVolumeMounts": [{"name": "epoch"}]}, "/extraVolumeMounts/0"),
        (with_epoch("/tmp/epoch"), "/settings/epoch_path"),
        (with_epoch("/var/lib/../../tmp/epoch"), "/settings/epoch_path"),
        (with_epoch("epoch"), "/settings/epoch_path"),
    ],
)
def test_invalid_values_are_refused(
    chart: helm_python.Chart, values: dict[str, Any], place: str
) -> None:
    with pytest.raises(helm_python.HelmValuesError, match=place):
        chart.validate_schema(values)


def test_the_root_key_may_be_in_a_key_service(chart: helm_python.Chart) -> None:
    settings = REQUIRED["settings"] | {"root_key_url": "https://vault/v1/transit/keys/secrets"}
    token = {"secret": "vault", "key": "token"}
    values = REQUIRED | {
        "settings": settings,
        "secretSettings": {"root_key": None, "root_key_token": token},
    }

    variables = environment(render(chart, values))

    assert variables["SECRETS_ROOT_KEY_URL"] == settings["root_key_url"]
    assert variables["SECRETS_ROOT_KEY_TOKEN_FILE"] == "/etc/secrets-files/root_key_token"
    assert "SECRETS_ROOT_KEY_FILE" not in variables
    with pytest.raises(helm_python.HelmValuesError):
        chart.validate_schema(values | {"settings": REQUIRED["settings"]})


def test_trusted_certificates_are_the_file_that_the_variable_names(
    chart: helm_python.Chart,
) -> None:
    values = REQUIRED | {"trustedCertificates": {"configMap": "bundle", "key": "all.pem"}}
    manifests = render(chart, values)
    path = environment(manifests)["SSL_CERT_FILE"]
    (mount,) = [m for m in container(manifests)["volumeMounts"] if path.startswith(m["mountPath"])]
    volumes = manifests["Deployment"]["spec"]["template"]["spec"]["volumes"]
    (volume,) = [v for v in volumes if v["name"] == mount["name"]]

    assert volume["configMap"]["name"] == "bundle"
    assert volume["configMap"]["items"] == [{"key": "all.pem", "path": path.rsplit("/", 1)[1]}]
    assert mount["readOnly"] is True


def test_further_variables_may_come_from_secrets(chart: helm_python.Chart) -> None:
    key = {"name": "AWS_SECRET_ACCESS_KEY"}
    key |= {"valueFrom": {"secretKeyRef": {"name": "aws", "key": "secret"}}}
    manifests = render(chart, REQUIRED | {"extraEnv": [key]})

    assert key in container(manifests)["env"]
    kubernetes_validate.validate(manifests["Deployment"], NEWEST, strict=True)


@pytest.mark.parametrize("folder", ["/epochs", "/epochs/"])
def test_the_epoch_is_in_a_volume_that_outlives_the_pod(
    chart: helm_python.Chart, folder: str
) -> None:
    mount = MOUNT | {"mountPath": folder}
    values = with_epoch("/epochs/epoch", extraVolumes=[VOLUME], extraVolumeMounts=[mount])
    manifests = render(chart, values)

    assert environment(manifests)["SECRETS_EPOCH_PATH"] == "/epochs/epoch"
    assert mount in container(manifests)["volumeMounts"]
    assert VOLUME in manifests["Deployment"]["spec"]["template"]["spec"]["volumes"]


@pytest.mark.parametrize(
    ("volume", "mount"),
    [
        ({"name": "other"}, MOUNT),
        ({"name": "epoch", "emptyDir": {}}, MOUNT),
        ({"name": "epoch", "ephemeral": {}}, MOUNT),
        (VOLUME, MOUNT | {"readOnly": True}),
        (VOLUME, MOUNT | {"mountPath": "/epoch"}),
        (VOLUME, MOUNT | {"mountPath": "/epochs/epoch"}),
    ],
)
def test_an_epoch_outside_of_such_a_volume_is_refused(
    chart: helm_python.Chart, volume: dict[str, Any], mount: dict[str, Any]
) -> None:
    values = with_epoch("/epochs/epoch", extraVolumes=[volume], extraVolumeMounts=[mount])

    with pytest.raises(helm_python.HelmError, match="settings.epoch_path must be in"):
        render(chart, values)
    with pytest.raises(helm_python.HelmError, match="settings.epoch_path must be in"):
        render(chart, with_epoch("/epochs/epoch"))


@pytest.mark.parametrize("values", [REQUIRED, EVERYTHING])
def test_secrets_are_mounted_as_files(chart: helm_python.Chart, values: dict[str, Any]) -> None:
    manifests = render(chart, values)
    volumes = manifests["Deployment"]["spec"]["template"]["spec"]["volumes"]
    (sources,) = [v["projected"]["sources"] for v in volumes if v["name"] == "secrets"]
    files = {f"/etc/secrets-files/{item['path']}" for s in sources for item in s["secret"]["items"]}
    variables = environment(manifests)
    settings = {name for name in variables if re.fullmatch("SECRETS_.*_FILE", name)}

    assert {variables[name] for name in settings} == files
    assert not {"Secret", "ConfigMap"} & manifests.keys()
    assert all("valueFrom" not in variable for variable in container(manifests)["env"])


def test_a_pod_has_the_restricted_security_of_kubernetes(chart: helm_python.Chart) -> None:
    manifests = render(chart, REQUIRED)
    pod = manifests["Deployment"]["spec"]["template"]["spec"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container(manifests)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def test_probes_ask_for_liveness_and_readiness(chart: helm_python.Chart) -> None:
    plain, tls = container(render(chart, REQUIRED)), container(render(chart, EVERYTHING))
    probes = {"startupProbe": "/health/live", "livenessProbe": "/health/live"}

    for name, path in (probes | {"readinessProbe": "/health"}).items():
        assert plain[name]["httpGet"] == {"path": path, "port": "http", "scheme": "HTTP"}
        assert tls[name]["httpGet"] == {"path": path, "port": "http", "scheme": "HTTPS"}


def test_the_chart_has_the_version_of_the_program() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert about["appVersion"] == known.workspace()["package"]["version"]


def test_manifests_of_the_external_secrets_operator_are_valid_yaml() -> None:
    for path in sorted((ROOT / "examples/eso").glob("*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text()):
            assert {"apiVersion", "kind", "metadata"} < manifest.keys()
