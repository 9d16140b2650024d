"""An archive of the classes that Spark loads (class data sharing), so that a JVM of the tests finds them parsed,
verified and laid out. This saves half of the processor time of its start.

`python -m support.spark_classes` makes it, which takes a start and a few queries; `make test` does so once an
environment. A JVM with another Java version or other jars ignores the archive. A run of the tests also works without
one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

ARCHIVE: Final = Path(__file__).parents[2] / "build" / "spark-classes.jsa"
#: A JVM of the tests lives for a minute or two: it compiles quickly instead of well, and collects garbage on one thread. An archive
#: is for the collector that it was made with.
_BRIEF: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_VARIABLE: Final = "SPARK_SUBMIT_OPTS"
_END_SECONDS: Final = 300
_TABLE: Final = (
    "select id, id % 7 as k, cast(id as decimal(12, 2)) / 3 as price, cast(id as double) as f, "
    "concat('row ', id) as s, date_add(date '2024-01-01', cast(id % 50 as int)) as d, "
    "timestamp '2024-01-01 00:00:00' + make_interval(0, 0, 0, cast(id % 50 as int)) as at, array(id, null) as a from range(2000)"
)
#: Of each kind of what plans have: joins, groups, windows, subqueries, sets, expressions of each type.
_QUERIES: Final = (
    "select k, count(*), sum(price), avg(f), min(s), max(d), count(distinct id) from t group by k having count(*) > 1 order by k",
    "select x.k, y.s from t x join t y on x.id = y.id and x.d <= y.d where x.s like 'row 1%' order by 2 desc limit 5 offset 2",
    "select x.k, y.s from t x left join t y on x.k = y.id and y.f > 3 where x.id in (select id from t where k = 2)",
    "select id, row_number() over (partition by k order by f desc), sum(price) over (order by id) from t",
    "select * from (select k from t union all select id from t intersect select f from t) as u where k is not null",
    "select case when k > 3 then upper(s) else substr(s, 2, 3) end, d + 1, date_trunc('month', at), extract(year from d), "
    "cast(price as string), cast(s as binary), regexp_replace(s, 'o', '0'), round(price, 1), a[0], to_json(struct(id, s)) from t",
    "select exists (select 1 from t y where y.id = x.id + 1), (select max(f) from t) from t x where not (k = 1 or s is null)",
    "select k, e from t lateral view explode(a) as e where e > 5",
)


def java_options() -> str:
    """Return the options with which the tests start a JVM."""
    if not ARCHIVE.exists() or " " in str(ARCHIVE):
        return _BRIEF
    # The logging that is switched off is the JVM's own, which warns of an archive that it ignores.
    return f"{_BRIEF} -XX:SharedArchiveFile={ARCHIVE} -Xlog:disable"


def use() -> None:
    """Make the drivers that this process and its children start use these options. Options that a user has set stay."""
    os.environ.setdefault(_VARIABLE, java_options())


def _make() -> int:
    """Start a Spark as members do, load the classes that it needs for queries and files, and have its JVM write the
    archive when it ends.
    """
    if " " in str(ARCHIVE):
        print("no archive of Spark's classes: there are blanks in the path of the working copy")
        return 0
    ARCHIVE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / ARCHIVE.name
        os.environ[_VARIABLE] = f"{_BRIEF} -XX:ArchiveClassesAtExit={made} -Xlog:disable"
        _run_queries(Path(folder))
        if not made.exists():
            print("no archive of Spark's classes: this Java writes none; the tests go without", file=sys.stderr)
            return 0
        # At once, since tests may be starting.
        beside = ARCHIVE.with_suffix(".new")
        beside.write_bytes(made.read_bytes())
        beside.replace(ARCHIVE)
    return 0


def _run_queries(folder: Path) -> None:
    from engine.executors.engine_config import SparkConfig
    from engine.executors.spark.session import SparkRuntime

    runtime = SparkRuntime(SparkConfig("local[2]"), folder / "spark")
    process: subprocess.Popen[bytes] = runtime._process
    session = runtime.session("UTC")
    rows: Any = session.sql(_TABLE)
    for format_ in ("parquet", "json"):
        rows.drop("a").write.format(format_).save(str(folder / format_))
        session.read.format(format_).load(str(folder / format_)).where("k = 3").count()
    rows.drop("a").write.csv(str(folder / "csv"), header=True)
    rows.write.parquet(str(folder / "t"))
    session.read.parquet(str(folder / "t")).createOrReplaceTempView("t")
    for query in _QUERIES:
        session.sql(query).toArrow()
    runtime.context.stop()
    # PySpark's JVM ends with its input.
    assert process.stdin is not None
    process.stdin.close()
    process.wait(_END_SECONDS)


if __name__ == "__main__":
    sys.exit(_make())
