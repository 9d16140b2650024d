"""Spark's settings of a member: its own, and those that the configuration adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.executors.engine_config import SparkConfig
from engine.executors.spark.session import spark_settings

RULES = "spark.sql.optimizer.excludedRules"
CATALYST = "org.apache.spark.sql.catalyst.optimizer"
OURS = f"{CATALYST}.PushProjectionThroughUnion"


@pytest.mark.parametrize(
    ("configured", "excluded"),
    [
        (None, OURS),
        ("", OURS),
        (f"{CATALYST}.ReorderJoin, {CATALYST}.CollapseWindow", f"{OURS},{CATALYST}.ReorderJoin, {CATALYST}.CollapseWindow"),
    ],
)  # fmt: skip
def test_configured_rules_are_excluded_beside_our_own(tmp_path: Path, configured: str | None, excluded: str) -> None:
    conf = {} if configured is None else {RULES: configured}
    assert spark_settings(SparkConfig(conf=conf), tmp_path)[RULES] == excluded


def test_the_configuration_overrides_other_settings(tmp_path: Path) -> None:
    conf = {"spark.sql.ansi.enabled": "false", "spark.master": "local[7]"}
    settings = spark_settings(SparkConfig(conf=conf, master="local[3]"), tmp_path)
    assert settings["spark.sql.ansi.enabled"] == "false"
    assert settings["spark.master"] == "local[3,2]"
