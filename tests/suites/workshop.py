"""The folder in which suites are unpacked and run: `build/suites/`, which is not committed and is kept between runs.

Packages come from the registry that pip is configured for, each at one version, as source distributions, since wheels
contain no tests. Packages that a suite needs and the project does not are installed into the suite's own environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from suites.outcomes import Outcome, read_junit

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "suites"


#: For suites without settings of their own for pytest, which would else find this project's above them.
NO_SETTINGS: Final = ("-c", os.devnull, "--rootdir", ".")


class SuiteError(Exception):
    """A suite could not be fetched or run at all; the text says what was tried and what came of it."""


def unpacked(package: str, version: str) -> Path:
    """The folder of a source distribution of PyPI, fetched if it is not there."""
    stem = f"{package.replace('-', '_')}-{version}"
    folder = FOLDER / stem
    if not folder.exists():
        archives = FOLDER / "archives"
        archives.mkdir(parents=True, exist_ok=True)
        _called(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package,
                "--dest", str(archives), f"{package}=={version}",
            ]
        )  # fmt: skip
        with tarfile.open(archives / f"{stem}.tar.gz") as archive:
            archive.extractall(FOLDER, filter="data")
    return folder


def environment(name: str, requirements: Sequence[str]) -> Path:
    """The python of an environment that has `requirements`, made anew when they change."""
    folder = FOLDER / f"venv-{name}"
    told = folder / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    python = folder / "bin" / "python"
    if not told.exists() or told.read_text() != wanted:
        venv.create(folder, clear=True, with_pip=True)
        _called([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
        told.write_text(wanted)
    return python


def pytest(
    python: Path, arguments: Sequence[str], *, folder: Path, report: str, minutes: float, more: Mapping[str, str]
) -> dict[str, Outcome]:
    """Run pytest in `folder` and read its report. report: a name for it; its output lies beside it. minutes: after which it is
    ended, and whatever it has not told is missing. more: environment variables beside our own."""
    junit, output = FOLDER / f"{report}.xml", FOLDER / f"{report}.txt"
    junit.unlink(missing_ok=True)
    command = [
        str(python), "-m", "pytest", "-p", "no:cacheprovider", "--tb=short",
        "--junitxml", str(junit), "-o", "junit_family=xunit2", *arguments,
    ]  # fmt: skip
    run(command, folder=folder, output=output, minutes=minutes, more=more)
    if not junit.exists():
        raise SuiteError(f"pytest told nothing: {' '.join(command)}\n{output.read_text()[-4000:]}")
    return read_junit(junit)


def run(command: Sequence[str], *, folder: Path, output: Path, minutes: float, more: Mapping[str, str]) -> int:
    """Run a command with all that it starts; its exit status. Ended with SIGINT, so that it can tell what it has."""
    # Ours is not theirs: neither the modules of this project nor the settings of its pytest.
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    with output.open("w") as file:
        process = subprocess.Popen(
            command, cwd=folder, stdout=file, stderr=subprocess.STDOUT, env={**kept, **more}, start_new_session=True
        )
        try:
            return process.wait(minutes * 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            try:
                return process.wait(30)
            except subprocess.TimeoutExpired:
                return -signal.SIGKILL
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _called(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SuiteError(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-4000:]}")
