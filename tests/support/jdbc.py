"""PostgreSQL's JDBC driver in its own Java process, for tests that connect as a BI tool does.

    with Jdbc() as jdbc:
        connection = jdbc.connect("jdbc:postgresql://127.0.0.1:5432/sluice?user=me")

Objects are Java's, through Py4J, which PySpark includes: `connection.createStatement().executeQuery(...)`.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyspark
from py4j import java_gateway, protocol
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from support.packages import require

DRIVER: Final = Path("/usr/share/java/postgresql.jar")


class Jdbc:
    """A Java process with the driver; see the module's docstring. Skips the test where Debian's package of the driver
    is missing.
    """

    def __init__(self) -> None:
        require(DRIVER.exists())

    def __enter__(self) -> Jdbc:
        jars = Path(pyspark.__file__).parent / "jars"
        [py4j] = jars.glob("py4j-*.jar")
        port, self._process = launch_gateway(
            jarpath=str(py4j), classpath=str(DRIVER), die_on_exit=True, return_proc=True
        )
        # PySpark, once it has been used in this process, takes every error of Java's for Spark's.
        self._of_spark = java_gateway.get_return_value
        java_gateway.get_return_value = protocol.get_return_value
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
        self._gateway.jvm.java.lang.Class.forName("org.postgresql.Driver")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gateway.shutdown()
        java_gateway.get_return_value = self._of_spark
        # It ends with its standard input.
        self._process.stdin.close()
        self._process.wait(10)

    @property
    def java(self) -> Any:
        """Java's packages below `java`."""
        return self._gateway.jvm.java

    def array(self, kind: str, length: int) -> Any:
        """Return a Java array. kind: `int` or the name of a class."""
        found = self._gateway.jvm.int if kind == "int" else getattr(self._gateway.jvm, kind)
        return self._gateway.new_array(found, length)

    def connect(self, url: str) -> Any:
        """Return a java.sql.Connection. Raises Py4JJavaError."""
        return self._gateway.jvm.java.sql.DriverManager.getConnection(url)

    def rows(self, connection: Any, query: str) -> list[tuple[str, ...]]:
        """Return all rows of a query, each value as the text that the driver returns."""
        statement = connection.createStatement()
        try:
            result = statement.executeQuery(query)
            width = result.getMetaData().getColumnCount()
            found = []
            while result.next():
                found.append(tuple(result.getString(i + 1) for i in range(width)))
            return found
        finally:
            statement.close()
