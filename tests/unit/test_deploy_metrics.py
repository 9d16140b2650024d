"""The dashboard and the alerts in `deploy/` use metrics and labels that exist, in well-formed expressions.

None of the libraries parses PromQL, so this reads tokens: parentheses match, every name is a known function, keyword,
label or metric of `docs/metrics.md`, histograms and counters have the suffixes of their samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) \| ([a-z, ]*) \|", re.MULTILINE)
_TOKEN = re.compile(
    r'(?P<text>"[^"]*")|(?P<number>\d+(?:\.\d+)?(?:e\d+)?)|(?P<name>[a-zA-Z_][a-zA-Z0-9_]*)'
    r"|(?P<range>\[(?:\d+[smhd]|\$__rate_interval)\])|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/<>=(){},])|(?P<space>\s+)"
)
_FUNCTIONS = {"rate", "increase", "histogram_quantile", "sum", "min", "max", "avg"}
_PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"}
#: What Prometheus itself adds, and a server of several processes.
_EVERYWHERE = {"instance", "job", "process"}


def _metrics() -> dict[str, set[str]]:
    """The labels of each sample, by its name."""
    found = {name: set(_EVERYWHERE) for name in (*_PROCESS, "up")}
    for name, kind, labels in _ROW.findall((ROOT / "docs/metrics.md").read_text()):
        own = {*filter(None, labels.split(", ")), *_EVERYWHERE}
        if kind == "histogram":
            found |= {f"{name}_bucket": {*own, "le"}, f"{name}_count": own, f"{name}_sum": own}
        else:
            found[name] = own
    return found


def _alerts() -> Iterator[str]:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule
            assert rule["annotations"]["summary"], rule
            yield rule["expr"]


def _panels() -> Iterator[str]:
    dashboard = json.loads((ROOT / "deploy/grafana/dashboard.json").read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def _mistakes(expression: str, metrics: dict[str, set[str]]) -> list[str]:
    found: list[str] = []
    depth: list[str] = []
    tokens: list[tuple[str | None, str]] = []
    at = 0
    while at < len(expression):
        token = _TOKEN.match(expression, at)
        if token is None:
            return [*found, f"cannot read {expression[at:]!r}"]
        at = token.end()
        if token.lastgroup != "space":
            tokens.append((token.lastgroup, token[0]))
    names: set[str] = set()
    labels: set[str] = set()
    for place, (kind, text) in enumerate(tokens):
        if text in ("(", "{"):
            by = place > 0 and tokens[place - 1][1] in ("by", "without")
            depth.append("labels" if text == "{" or by else "(")
        elif text in (")", "}"):
            if not depth:
                return [*found, f"{text} too many"]
            depth.pop()
        elif kind == "name" and depth and depth[-1] == "labels":
            labels.add(text)
        elif kind == "name" and text not in ("by", "without", "and", "or", "unless"):
            calls = (place + 1 < len(tokens) and tokens[place + 1][1] == "(") or tokens[place + 1 : place + 2] == [
                ("name", "by")
            ]
            (found if calls and text not in _FUNCTIONS else []).append(f"no function {text}")
            names |= set() if calls else {text}
    found += [f"no metric {name}" for name in names if name not in metrics]
    known = set().union(*(metrics.get(name, set()) for name in names))
    found += [f"no label {label}" for label in labels - known]
    return found + (["a parenthesis is open"] if depth else [])


@pytest.mark.parametrize("expression", [*_alerts(), *_panels()])
def test_an_expression_asks_for_what_there_is(expression: str) -> None:
    assert _mistakes(expression, _metrics()) == []


@pytest.mark.parametrize(
    ("expression", "mistake"),
    [
        ("sluice_no_such > 0", "no metric sluice_no_such"),
        ("sluice_loop_stalls > 0", "no metric sluice_loop_stalls"),
        ("rate(sluice_statement_seconds[5m])", "no metric sluice_statement_seconds"),
        ("sum by (colour) (sluice_sessions)", "no label colour"),
        ('sluice_sessions{colour="red"}', "no label colour"),
        ("frobnicate(sluice_sessions)", "no function frobnicate"),
        ("(sluice_sessions", "a parenthesis is open"),
        ("sluice_sessions ; 1", "cannot read '; 1'"),
    ],
)
def test_a_mistake_is_found(expression: str, mistake: str) -> None:
    assert mistake in _mistakes(expression, _metrics())
