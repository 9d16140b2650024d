"""Errors of a JVM that has ended: their texts are in the JVM, which no longer answers."""

from __future__ import annotations

import socket

import pytest
from py4j.clientserver import JavaClient, JavaParameters, PythonParameters
from py4j.java_gateway import GatewayProperty, JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.logger.logger import JSONFormatter

from engine.executors.spark.errors import text_of, translate


def _lost() -> Py4JJavaError:
    """An exception of Java's, as Py4J raises it, of a JVM that does not listen any more."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    parameters = JavaParameters(port=port, enable_memory_management=False)
    client = JavaClient(parameters, PythonParameters(), GatewayProperty(False, None))
    client.converters = ()
    return Py4JJavaError("An error occurred while calling o1.getResult.\n", JavaObject("o2", client))


def test_what_it_was_is_told_without_asking_for_more() -> None:
    assert text_of(_lost()) == "Py4JJavaError: Spark has ended"


def test_a_query_gets_an_error_of_ours() -> None:
    error = translate(_lost())
    assert (error.sqlstate, error.message) == ("XX000", "Spark failed: Py4JJavaError: Spark has ended")


def test_what_is_logged_can_be_formatted(caplog: pytest.LogCaptureFixture) -> None:
    """PySpark's formatter asks a logged exception for its text, which is in the JVM."""
    translate(_lost())
    assert "Spark has ended" in JSONFormatter().format(caplog.records[-1])


def test_the_cause_is_told_too() -> None:
    error = _lost()
    error.__cause__ = ConnectionResetError("reset")
    assert text_of(error) == "Py4JJavaError: Spark has ended\nreset"


@pytest.mark.parametrize("condition", ["UNRESOLVED_COLUMN.WITH_SUGGESTION", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"])
def test_a_name_of_two_queries_further_out_is_not_supported(condition: str) -> None:
    error = translate(
        AnalysisException(f"[{condition}] A column with name `t2`.`c3` cannot be resolved. SQLSTATE: 42703")
    )
    assert (error.sqlstate, error.message) == ("0A000", "not supported: this correlated subquery in Spark")


def test_an_error_that_a_plan_would_raise_is_not_the_one_that_it_has() -> None:
    plan = "raise_error(USER_RAISED_EXCEPTION, map(errorMessage, SQLSTATE:22008:date out of range), NullType)"
    error = translate(AnalysisException(f"[DIVIDE_BY_ZERO] Division by zero.\n+- Filter {plan}"))
    assert (error.sqlstate, error.message) == ("22012", "division by zero")


def test_a_python_function_in_the_condition_of_a_subquery_is_not_supported() -> None:
    method = "usePythonUDFInJoinConditionUnsupportedError"
    error = translate(
        AnalysisException(f'[UNSUPPORTED_CALL.WITHOUT_SUGGESTION] Cannot call the method "{method}". SQLSTATE: 0A000')
    )
    assert (error.sqlstate, error.message) == ("0A000", "not supported: this correlated subquery in Spark")


def test_an_executor_that_ends_permits_a_retry() -> None:
    """Text of the campaign in docs/measurements/kills.md: the executors of a worker that was killed."""
    rejected = (
        "java.util.concurrent.RejectedExecutionException: Task org.apache.spark.executor.Executor$TaskRunner@551aaf79"
        " rejected from java.util.concurrent.ThreadPoolExecutor@2de2df00[Terminated, pool size = 0, active threads = 0]"
    )
    error = translate(
        RuntimeError(f"Job aborted due to stage failure: Task 7 in stage 64.0 failed 4 times: {rejected}")
    )
    assert (error.sqlstate, error.message) == ("40001", "could not complete the query: an executor of Spark has ended")
