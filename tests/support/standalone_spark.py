"""A standalone Spark cluster for tests: a master and workers from PySpark's own jars, on 127.0.0.1.

Each worker has one core and the memory of one small executor. All processes write below one folder, and at the end no
process of their sessions runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil
import pyspark

from support.member_process import wait_until
from support.ports import free_port
from support.spark_classes import java_options

_HOME: Final = Path(pyspark.__file__).parent
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"
_HEAP_MB: Final = 512
#: Of a worker: what Spark counts for an executor with that heap.
_WORKER_MB: Final = 1024
_START_SECONDS: Final = 120
_STOP_SECONDS: Final = 20
_PAGE_SECONDS: Final = 60.0
_LOCALHOST: Final = "127.0.0.1"


class StandaloneSpark:
    """A context manager around one cluster. master: its URL. conf: the settings that an application needs to fit into
    it.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._workers = workers
        self._port = free_port()
        self._page = ""
        self._stack = ExitStack()
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._sessions: set[int] = set()
        self.master = f"spark://{_LOCALHOST}:{self._port}"
        self.conf = {
            "spark.driver.host": _LOCALHOST,
            "spark.driver.bindAddress": _LOCALHOST,
            "spark.executor.memory": f"{_HEAP_MB}m",
            "spark.executor.extraJavaOptions": self._java_options,
        }

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._stop)
            for name in ("tmp", "local", "work"):
                (self._folder / name).mkdir(parents=True)
            self.start_master()
            self.start_workers()
            self._stack = stack.pop_all()
        return self

    def start_master(self) -> None:
        """Start the master. One that starts again at the same address knows neither workers nor applications."""
        page = free_port()
        self._page = f"http://{_LOCALHOST}:{page}"
        self._start("master", "--host", _LOCALHOST, "--port", str(self._port), "--webui-port", str(page))
        self._wait_for("master", "I have been elected leader")

    def start_workers(self) -> None:
        """Start the workers that do not run."""
        names = [name for name in map("worker{}".format, range(self._workers)) if name not in self._servers]
        for name in names:
            size = ("--cores", "1", "--memory", f"{_WORKER_MB}m", "--work-dir", str(self._folder / "work"))
            self._start(name, "--host", _LOCALHOST, "--webui-port", str(free_port()), *size, self.master)
        for name in names:
            self._wait_for(name, "Successfully registered with master")

    def remove_applications(self) -> None:
        """Remove the running applications, as an administrator does on the master's page."""
        page = self._read_page("")
        for number in re.findall(r'href="app/\?appId=([^"]+)"', page.partition("Completed Applications")[0]):
            [token] = set(re.findall(r'name="csrfToken" value="([^"]+)"', page))
            self._read_page("app/kill/", {"id": number, "terminate": "true", "csrfToken": token})

    def _read_page(self, path: str, form: dict[str, str] | None = None) -> str:
        data = None if form is None else urllib.parse.urlencode(form).encode()
        with urllib.request.urlopen(f"{self._page}/{path}", data, _PAGE_SECONDS) as answer:
            return str(answer.read(), "utf-8")

    def kill_master(self) -> None:
        self._kill("master")

    def kill_workers(self, count: int | None = None) -> None:
        """Kill that many workers; None: all. Their executors notice it and end."""
        for name in [name for name in self._servers if name.startswith("worker")][:count]:
            self._kill(name)

    def python_workers(self) -> list[psutil.Process]:
        """Return the processes of Python in which tasks run."""
        return [child for child in self._family() if _is_python(child)]

    def _kill(self, name: str) -> None:
        server = self._servers.pop(name)
        server.kill()
        server.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def executors(self) -> list[psutil.Process]:
        """Return the JVMs of the running executors."""
        return [child for child in self._family() if _is_executor(child)]

    @property
    def _java_options(self) -> str:
        return f"-Djava.io.tmpdir={self._folder / 'tmp'} -XX:-UsePerfData {java_options()}"

    def _start(self, name: str, *arguments: str) -> None:
        kind = name.rstrip("0123456789")
        environment = {
            **os.environ,
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            # An application whose executors are killed again and again goes on.
            "SPARK_DAEMON_JAVA_OPTS": f"{self._java_options} -Dspark.deploy.maxExecutorRetries=-1",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}.{kind.title()}", *arguments]
        with self._log(name).open("wb") as log:
            server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self._servers[name] = server
        self._sessions.add(server.pid)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _wait_for(self, name: str, words: str) -> None:
        def has_said() -> bool:
            if any(server.poll() is not None for server in self._servers.values()):
                raise RuntimeError(f"the cluster did not start: {self._log(name).read_text()[-2000:]}")
            return words in self._log(name).read_text()

        wait_until(has_said, _START_SECONDS)

    def _family(self) -> list[psutil.Process]:
        """Return every process of the servers' sessions, also Python workers whose executor has ended."""
        return [process for process in psutil.process_iter() if _session(process.pid) in self._sessions]

    def _stop(self) -> None:
        """End the workers, which end their executors, then the master; then kill the processes that remain."""
        family = self._family()
        for server in reversed(self._servers.values()):
            server.terminate()
        for server in self._servers.values():
            try:
                server.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        _, left = psutil.wait_procs(family, _STOP_SECONDS)
        for process in left:
            process.kill()
        psutil.wait_procs(left, _STOP_SECONDS)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def _is_python(process: psutil.Process) -> bool:
    try:
        return bool(process.name().startswith("python"))
    except psutil.Error:
        return False


def _is_executor(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return any(word.endswith(_EXECUTOR) for word in words)
