"""Tests that the deployment files and their documentation name only settings that exist."""

from __future__ import annotations

from pathlib import Path

import known
import pytest
from program import ROOT

# The templates of the chart build the names; test_chart.py checks the rendered ones.
FILES = [
    "deploy/Dockerfile",
    "deploy/compose.yaml",
    "deploy/systemd/secrets.env",
    "docs/deploying.md",
]


@pytest.mark.parametrize("path", FILES)
def test_a_file_names_only_settings_of_the_program(path: str) -> None:
    found = known.named((ROOT / path).read_text())

    assert found, "no setting was found"
    assert found <= known.variables()


def test_every_file_of_the_folder_is_checked() -> None:
    others = [path for path in known.DEPLOY.rglob("*") if path.is_file() and is_unchecked(path)]

    assert not others


def is_unchecked(path: Path) -> bool:
    place = path.relative_to(ROOT)
    tested = {*FILES, "deploy/live", "deploy/systemd/secrets.service"}
    private = {"deploy/.env"} | {f"deploy/secrets/{path.name}"}
    return str(place) not in tested | private and place.parts[1] not in {"helm", "prometheus"}
