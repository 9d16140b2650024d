"""The options of JVMs that tests start, with an archive of Spark's classes and without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import spark_classes


def test_an_archive_is_taken_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "spark-classes.jsa"
    monkeypatch.setattr(spark_classes, "ARCHIVE", archive)
    without = spark_classes.java_options()
    assert "SharedArchiveFile" not in without
    archive.touch()
    assert spark_classes.java_options() == f"{without} -XX:SharedArchiveFile={archive} -Xlog:disable"


def test_what_a_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xint")
    spark_classes.use()
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Xint"
