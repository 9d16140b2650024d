"""The deployment of members: an image that contains what it needs to run and no more, a systemd unit, a chart."""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest
import yaml

from engine.catalog.store import postgres, sqlite
from wire.mesh.messages import VERSION

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


def test_all_that_the_image_is_made_of_is_there() -> None:
    image, executor = ((ROOT / name).read_text() for name in ("Dockerfile", "deploy/executor.Dockerfile"))
    copied = " ".join(re.findall(r"^COPY (?!--from)(.*) \S+$", image, re.MULTILINE)).split()
    assert [name for name in copied if not (ROOT / name).exists()] == []
    # What is copied from another stage is what the stage has made.
    venvs = set(re.findall(r"/opt/sluice(?=[ /])", image))
    assert venvs == {"/opt/sluice"}
    assert "COPY --from=build /opt/sluice /opt/sluice" in image
    assert "PYSPARK_PYTHON=/opt/sluice/bin/python" in executor
    stages = re.findall(r"^FROM \S+ AS (\w+)$", image + executor, re.MULTILINE)
    assert set(re.findall(r"--from=(\w+)", image + executor)) <= set(stages)
    # Executors are nobody's root either, and a release's Spark is the members' own.
    assert re.findall(r"^USER (.*)$", executor, re.MULTILINE)[-1] == "10001:10001"
    [pinned] = re.findall(r"^pyspark==(\S+?)(?: |$)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    for text in (executor, (ROOT / "docs/operations.md").read_text()):
        assert re.findall(r"SPARK=apache/spark:(\S+)", text) == [pinned]


def test_the_package_has_all_files_of_the_packages() -> None:
    """The image has what `pip install .` installs, which is code, and other files where they are named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found, named = project["packages"]["find"]["include"], project["package-data"]
    missing = []
    for file in (path for top in ("wire", "engine", "server") for path in (ROOT / top).rglob("*") if path.is_file()):
        if "__pycache__" in file.parts:
            continue
        package, inside = file.parent.relative_to(ROOT), file.name
        while not (ROOT / package / "__init__.py").exists():
            package, inside = package.parent, f"{package.name}/{inside}"
        name = ".".join(package.parts)
        patterns = ["*.py"] if "/" not in inside else []
        patterns += [pattern for of in ("*", name) for pattern in named.get(of, ())]
        if not (
            any(fnmatch.fnmatch(name, each) for each in found)
            and any(PurePosixPath(inside).match(pattern) for pattern in patterns)
        ):
            missing.append(str(file.relative_to(ROOT)))
    assert missing == []


def test_an_upgrade_is_told_the_versions_that_there_are() -> None:
    text = (ROOT / "docs" / "upgrade.md").read_text()
    assert re.findall(r"it is (\d+)\)", text) == [str(VERSION)]
    assert re.findall(r"are brought to (\d+) by tests", text) == [str(sqlite._FORMAT)] == [str(postgres._FORMAT)]


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "clients").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_a_client_says_what_was_tried(page: Path) -> None:
    text, overview = page.read_text(), (ROOT / "docs" / "clients" / "README.md").read_text()
    if page.stem != "README":
        assert f"]({page.name})" in overview
        assert "**Tried**: " in text
    for test in re.findall(r"`((?:tests/)?[\w/]*test_\w+\.py|tests/[\w/]+)`", text):
        assert (ROOT / test).exists() or (ROOT / "tests" / "clients" / test).exists(), test


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
