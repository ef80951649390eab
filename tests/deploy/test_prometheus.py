"""Tests of the alert rules for Prometheus, with `promtool`."""

from __future__ import annotations

import subprocess

import known


def test_the_alert_rules_are_valid() -> None:
    rules = known.DEPLOY / "prometheus/rules.yaml"
    command = ["promtool", "check", "rules", "--lint=all", "--lint-fatal", rules]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    assert result.returncode == 0, result.stdout
    assert "rules found" in result.stdout
