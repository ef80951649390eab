"""Tests of the alert rules and the dashboard for Prometheus, with `promtool`."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import known
import pytest
import yaml

RULES = known.DEPLOY / "prometheus/rules.yaml"

# Alerts by name: the series that raise the alert, in the notation of promtool, of which each has a
# sample per minute, and the labels of the alert besides its severity. Each series is normal for ten
# minutes and abnormal for an hour.
NORMAL, ABNORMAL = 10, 60
ALERTS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "SecretsDown": ({'secrets_build_info{instance="a"}': "1x9 _x60"}, {}),
    "SecretsDatabaseDown": ({'secrets_database_up{instance="a"}': "1x9 0x60"}, {"instance": "a"}),
    "SecretsWorkerStopped": (
        {'secrets_worker_up{worker="audit seal"}': "1x9 0x60"},
        {"worker": "audit seal"},
    ),
    "SecretsWorkWaits": (
        {'secrets_worker_lag_seconds{worker="rotations"}': "900x9 901x60"},
        {"worker": "rotations"},
    ),
    "SecretsAuditFails": ({"secrets_audit_failures_total": "3x9 4+1x60"}, {}),
    "SecretsAuditNotSealed": ({"secrets_audit_sealed_age_seconds": "600x9 601x60"}, {}),
    "SecretsRotationsFail": (
        {
            'secrets_rotation_attempts_total{result="success"}': "0+1x69",
            'secrets_rotation_attempts_total{result="failed"}': "2x9 3+1x60",
        },
        {"result": "failed"},
    ),
    "SecretsDeliveriesGivenUp": (
        {
            'secrets_delivery_attempts_total{result="retried"}': "0+1x69",
            'secrets_delivery_attempts_total{result="given_up"}': "2x9 3+1x60",
        },
        {"result": "given_up"},
    ),
    "SecretsNoConnection": ({"secrets_database_connection_failures_total": "3x9 4+1x60"}, {}),
    "SecretsItemsFail": (
        {
            'secrets_failing_items{instance="a",work="webhook receiver"}': "1x69",
            'secrets_failing_items{instance="a",work="project purge"}': "0x9 1x60",
        },
        {"instance": "a", "work": "project purge"},
    ),
    "SecretsServerErrors": (
        {
            'secrets_http_request_duration_seconds_count{instance="a",status="2xx"}': "0+600x69",
            'secrets_http_request_duration_seconds_count{instance="a",status="5xx"}': "0x9 60+60x60",
        },
        {"instance": "a"},
    ),
    "SecretsInternalErrors": (
        {
            'secrets_operation_failures_total{reason="store"}': "0+1x69",
            'secrets_operation_failures_total{reason="internal"}': "2x9 3+1x60",
        },
        {"reason": "internal"},
    ),
    "SecretsRecordsDamaged": (
        {'secrets_decryption_failures_total{reason="record"}': "2x9 3+1x60"},
        {"reason": "record"},
    ),
    "SecretsManifestsCreated": ({"secrets_manifests_created_total": "3x9 4+1x60"}, {}),
    "SecretsInvalidCredentials": ({"secrets_authentication_failures_total": "0+30x9 600+600x60"}, {}),
    "SecretsKeySetNotRefreshed": (
        {
            'secrets_key_set_fetches_total{instance="a",result="ok"}': "1x69",
            'secrets_key_set_fetches_total{instance="a",result="failed"}': "0+1x69",
            'secrets_key_set_age_seconds{instance="a"}': "60x9 900+60x60",
            'secrets_key_set_fetches_total{instance="idle",result="failed"}': "3x69",
            'secrets_key_set_age_seconds{instance="idle"}': "9000+60x69",
        },
        {"instance": "a"},
    ),
    "SecretsRedisDown": ({"secrets_redis_up": "1x9 0x60"}, {}),
    "SecretsMemoryBudgetUsed": (
        {"secrets_memory_used_bytes": "80x9 95x60", "secrets_memory_budget_bytes": "100x69"},
        {},
    ),
}


def promtool(*arguments: Any) -> str:
    """Runs promtool, checks that it succeeds, and returns its output."""
    command = ["promtool", *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout
    return result.stdout


def rules() -> dict[str, dict[str, Any]]:
    """Returns the alert rules by name."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def test_the_alert_rules_are_valid() -> None:
    assert "rules found" in promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)


def test_each_alert_has_a_test() -> None:
    assert list(ALERTS) == list(rules())


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_raised_only_by_what_it_names(name: str, tmp_path: Path) -> None:
    (series, labels), rule = ALERTS[name], rules()[name]
    summary = rule["annotations"]["summary"]
    for label, value in labels.items():
        summary = summary.replace("{{ $labels.%s }}" % label, value)
    raised = {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": {"summary": summary}}
    # The series have become normal or abnormal long enough before these times, in minutes.
    times = {f"{NORMAL - 1}m": [], f"{NORMAL + ABNORMAL - 5}m": [raised]}
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": time, "alertname": name, "exp_alerts": alerts}
            for time, alerts in times.items()
        ],
    }
    file = tmp_path / "test.yaml"
    content = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    file.write_text(json.dumps(content))

    assert "SUCCESS" in promtool("test", "rules", file)


def test_the_dashboard_shows_the_metrics_of_all_alerts() -> None:
    dashboard = (known.DEPLOY / "prometheus/dashboard.json").read_text()
    # `secrets_database_up` and `secrets_worker_up` are shown by what fails without them; without
    # `secrets_build_info`, every panel is empty.
    implied = {"secrets_build_info", "secrets_database_up", "secrets_worker_up", "secrets_memory_budget_bytes"}
    for rule in rules().values():
        for metric in set(re.findall(r"\bsecrets_\w+", rule["expr"])) - implied:
            assert metric in dashboard, metric
