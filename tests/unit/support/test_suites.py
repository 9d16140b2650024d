"""The framework for other authors' suites: reports are parsed, runs are compared, every failure needs a reason."""

from __future__ import annotations

from pathlib import Path

from suites.__main__ import SUITES
from suites.comparison import Reason, compare, counted, reasons
from suites.outcomes import Outcome, Outcomes, read_junit
from suites.suite import LeftOut, Suite

REPORT = """<testsuites><testsuite>
<testcase classname="a.B" name="test_x"/>
<testcase classname="a.B" name="test_x"><error message="teardown">left</error></testcase>
<testcase classname="a.B" name="test_y"><failure message="no">because</failure></testcase>
<testcase classname="a.B" name="test_z[1]"><skipped message="why"/></testcase>
</testsuite></testsuites>"""

PASSED, FAILED, SKIPPED = Outcome("passed"), Outcome("failed", "0A000"), Outcome("skipped")


def test_a_report_tells_the_worst_of_each_test(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    assert read_junit(tmp_path / "report.xml") == {
        "a.B::test_x": Outcome("failed", "teardown\nleft"),
        "a.B::test_y": Outcome("failed", "no\nbecause"),
        "a.B::test_z[1]": Outcome("skipped", "why"),
    }


def test_what_passes_on_postgres_is_required_and_nothing_else() -> None:
    there: Outcomes = {"a": PASSED, "b": PASSED, "c": PASSED, "d": PASSED, "e": FAILED}
    here: Outcomes = {"a": PASSED, "b": FAILED, "c": SKIPPED, "e": PASSED, "f": FAILED}
    found = compare(here, there, [Reason("none", ["b"], "0A0+")])
    assert (found.required, found.passed) == (4, 1)
    assert found.explained == {"none": ["b"]}
    assert set(found.unexplained) == {"c", "d"}


def test_a_reason_fits_by_name_and_by_what_was_said() -> None:
    reason = Reason("why", ["*::test_z[*]"], "0A000")
    assert reason.explains("a.B::test_z[1]", FAILED)
    assert not reason.explains("a.B::test_z1", FAILED)
    assert not reason.explains("a.B::test_z[1]", Outcome("failed", "XX000"))


def test_left_out_tests_are_not_counted() -> None:
    suite = Suite("s", "S", "s 1", 1.0, lambda _server: {}, [LeftOut("*::test_z[*]", "not ours")])
    assert counted(suite, {"a::test_z[1]": FAILED, "a::test_y": PASSED}) == {"a::test_y": PASSED}


def test_the_files_of_reasons_are_those_of_suites_and_can_be_read() -> None:
    names = {suite.name for suite in SUITES}
    families = {suite.family or suite.name for suite in SUITES}
    folder = Path(__file__).parents[2] / "suites"
    assert {file.stem for file in folder.glob("reasons/*.toml")} <= families
    assert {file.stem for file in folder.glob("results/*.json")} <= names
    assert all(reason.tests for suite in SUITES for reason in reasons(suite))
