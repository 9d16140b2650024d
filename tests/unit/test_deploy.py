"""The deployment of members: an image that has what it runs with and no more, a unit of systemd, a chart."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "sluice"


def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_lock_of_what_runs_is_whole_and_no_more() -> None:
    checks = audit()
    to_run, to_develop = dict(checks.pins_of(checks.LOCK)), dict(checks.pins_of(checks.DEV_LOCK))
    assert list(checks.needed(to_run, checks._asked(to_run=True), "the lock")) == []
    assert to_run.keys().isdisjoint(to_develop)
    assert {"pytest", "mypy", "hypothesis", "moto", "ruff"} <= to_develop.keys()


def test_the_image_has_what_runs_and_is_not_roots() -> None:
    text = (ROOT / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE)
    assert sorted(" ".join(copied).split()) == [
        "README.md",
        "engine",
        "pyproject.toml",
        "requirements.lock",
        "server",
        "wire",
    ]
    users = re.findall(r"^USER (.*)$", text, re.MULTILINE)
    assert users == ["10001:10001"]
    assert text.index("USER 10001") < text.index("ENTRYPOINT")
    sent = (ROOT / ".dockerignore").read_text().split("\n")
    assert {line[1:] for line in sent if line.startswith("!")} == set(" ".join(copied).split())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """With a program that is there in the member's place."""
    unit = tmp_path / "sluice.service"
    unit.write_text((ROOT / "deploy" / "sluice.service").read_text().replace("/opt/sluice/bin/sluice", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_values_of_the_chart_have_a_schema_and_are_used() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    templates = "".join(file.read_text() for file in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values\.([A-Za-z]+)(?:\.([A-Za-z]+))?", templates))
    for key, value in values.items():
        assert key in schema["properties"] or key == "resources"
        if not isinstance(value, dict):
            assert any(name == key for name, _ in used), key
            continue
        for below in value:
            assert (key, below) in used, (key, below)
    assert {key for key, _ in used} <= values.keys()
    # Helm has more functions than Go's template engine; the check of the chart has that engine alone.
    assert not re.search(r"\{\{[^}]*\s(include|toYaml|nindent|quote|default|required)\s", templates)
