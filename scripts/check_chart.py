"""Checks the Helm chart without Helm: `make chart`.

The script renders the chart's templates with Go's own template engine (an npm package has it as WebAssembly) for
several sets of values, and makes three checks: the values have to match values.schema.json; every document has to match
Kubernetes' schemas (kubernetes-validate, strictly: no unknown keys); and a member has to start with the configuration
that results. Both tools are installed into build/chart, from npm and PyPI. The check does not show that Helm accepts
the chart, nor that a cluster runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
CHART: Final = ROOT / "deploy" / "helm" / "sluice"
TOOLS: Final = ROOT / "build" / "chart"
RENDERER: Final = "@evertdespiegeleer/go-template@1.0.2"
VALIDATOR: Final = "kubernetes-validate==1.37.0"
VERSIONS: Final = ("1.28", "1.32", "1.37")
#: Values that differ from values.yaml, by key.
VARIANTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {
        "members": 1,
        "catalog": {"create": False, "host": "db.example", "port": 6432, "database": "lake", "user": "lake"},
    },
    {
        "data": {"path": "/lake", "existingClaim": "lake", "storageClass": "", "storage": ""},
        "trust": ["127.0.0.0/8", "10.0.0.0/8"],
        "spark": {"conf": {"spark.executor.memoryOverhead": "1g"}},
    },
)


def main() -> int:
    _install()
    sys.path.insert(0, str(TOOLS / "python"))
    import jsonschema
    import kubernetes_validate

    schema = json.loads((CHART / "values.schema.json").read_text())
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    count = 0
    for variant in VARIANTS:
        values = {key: _over(value, variant.get(key)) for key, value in defaults.items()}
        jsonschema.validate(values, schema)
        for document in _rendered(values):
            for version in VERSIONS:
                kubernetes_validate.validate(document, version, strict=True)
            if document["kind"] == "StatefulSet" and document["metadata"]["name"] == "lake":
                assert document["spec"]["template"]["spec"]["enableServiceLinks"] is False
            if document["kind"] == "ConfigMap":
                _understood(document["data"]["member.toml"], values)
            count += 1
    sys.stdout.write(
        f"{len(VARIANTS)} sets of values, {count} documents: as Kubernetes {', '.join(VERSIONS)} wants them\n"
    )
    return 0


def _install() -> None:
    if not (TOOLS / "node_modules").exists():
        TOOLS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", TOOLS, RENDERER], check=True)
    if not (TOOLS / "python").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, "--target", TOOLS / "python", VALIDATOR], check=True)


def _over(value: Any, other: Any) -> Any:
    if isinstance(value, dict) and isinstance(other, dict):
        return {**value, **other}
    return value if other is None else other


def _rendered(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (TOOLS / "values.json").write_text(json.dumps(values))
    # Node looks for packages beside the script.
    script = TOOLS / "render_chart.mjs"
    script.write_text((ROOT / "scripts" / "render_chart.mjs").read_text())
    done = subprocess.run(["node", script, CHART, TOOLS / "values.json"], capture_output=True, text=True, check=True)
    yield from filter(None, yaml.safe_load_all(done.stdout))


def _understood(text: str, values: dict[str, Any]) -> None:
    """Read the configuration as a pod's member does, and check it."""
    sys.path.insert(0, str(ROOT))
    from server.config.config import load

    file = TOOLS / "member.toml"
    file.write_text(text)
    environment = {
        "SLUICE_MEMBER": "lake-0", "SLUICE_MESH": "0.0.0.0:7432", "SLUICE_CLUSTER__SECRET": "s",
        "SLUICE_CLUSTER__ADVERTISE": "lake-0.lake-members:7432", "SLUICE_SPARK__CONF__spark.driver.host": "10.0.0.7",
    }  # fmt: skip
    config = load(file, {}, {**{k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}, **environment})
    assert config.spark.conf["spark.driver.host"] == "10.0.0.7"
    assert str(config.base) == values["data"]["path"]
    assert config.spark.conf.items() >= values["spark"]["conf"].items()


if __name__ == "__main__":
    sys.exit(main())
