"""One JVM for all Sparks of this folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psutil
import pytest
from support import lent_jvm
from support.child_processes import is_alive


@pytest.fixture(scope="session", autouse=True)
def jvm() -> Iterator[None]:
    """The JVM that all Sparks here borrow (`support.lent_jvm`): the classes that one test has loaded and compiled serve
    the next. Therefore these tests run in one process. At the end it is asserted that neither a process nor a thread of
    PySpark is left.
    """
    yield
    process = lent_jvm.lent_process()
    family = [] if process is None else [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    lent_jvm.close()
    assert [member for member in family if is_alive(member)] == []
    kinds = {type(thread) for thread in threading.enumerate()}
    assert [kind for kind in kinds if kind.__module__.startswith(("py4j", "pyspark"))] == []
