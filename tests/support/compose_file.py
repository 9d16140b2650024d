"""The contents of docker-compose.yml, for tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
SECRET = "a secret that only this cluster knows"


def compose() -> dict[str, Any]:
    """Return the parsed file, with its variables substituted."""
    text = re.sub(r"\$\{CLUSTER_SECRET[^}]*\}", SECRET, (ROOT / "docker-compose.yml").read_text())
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def member_names() -> list[str]:
    """Return the names of the services that run `sluice serve`."""
    return [name for name, service in compose()["services"].items() if "serve" in service.get("command", ())]


def environment_of(service: str) -> dict[str, str]:
    found: dict[str, str] = compose()["services"][service]["environment"]
    return found
