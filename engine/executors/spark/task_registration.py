"""The driver's side of a function that tasks compute with DuckDB (`engine.planner.codegen.task_functions`)."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, _parse_datatype_string
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from engine.executors.spark.function_task import FunctionTask
from engine.planner.codegen.task_function import TaskFunction
from engine.planner.codegen.task_functions import ERROR, VALUE


def register(session: SparkSession, function: TaskFunction) -> None:
    """Register the function as a temporary function of the session, with the session's time zone."""
    time_zone = session.conf.get("spark.sql.session.timeZone")
    assert time_zone is not None, "each session has one"
    value: DataType = _parse_datatype_string(function.returns)
    task = FunctionTask(function.statement, to_arrow_type(value), time_zone)
    returns = f"{VALUE} {function.returns}, {ERROR} string"
    udf = UserDefinedFunction(task, returns, function.name, PythonEvalType.SQL_SCALAR_ARROW_UDF)
    session._jsparkSession.udf().registerPython(function.name, udf._judf)
