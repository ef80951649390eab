"""Tests of the systemd unit file. `systemd-analyze` checks it and measures how exposed it is."""

from __future__ import annotations

import re
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import known

UNIT = known.DEPLOY / "systemd/secrets.service"

# Maximum exposure that `systemd-analyze security` computes, from 0 to 10.
MAX_EXPOSURE = 2.0

# Part of the hardening that is required, whatever the measured exposure is.
HARDENING = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateDevices": "yes",
    "MemoryDenyWriteExecute": "yes",
    "LimitCORE": "0",
}


def settings() -> dict[str, str]:
    parser = RawConfigParser(strict=False, delimiters=["="])
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT)
    return dict(parser["Service"])


def test_the_unit_is_hardened() -> None:
    found = settings()

    assert HARDENING == {name: found[name] for name in HARDENING}


def test_exit_codes_that_need_a_change_prevent_a_restart() -> None:
    listed = set(re.findall(r"\b\d\d\b", known.output("--help").split("Exit codes:")[1]))

    # A restart can help with these errors: the database or the key service comes back, or the
    # address becomes free.
    assert set(settings()["RestartPreventExitStatus"].split()) == listed - {"69", "73", "75"}


def test_systemd_accepts_the_unit_and_finds_little_exposure(tmp_path: Path) -> None:
    # `verify` checks that the program exists.
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/secrets-http", "/bin/true"))

    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    measured = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE * 10:.0f}", unit],
        capture_output=True, text=True,
    )  # fmt: skip

    # Warnings about other units of the machine do not count.
    assert verified.returncode == 0, verified.stderr
    assert UNIT.name not in verified.stderr
    assert measured.returncode == 0, measured.stdout
