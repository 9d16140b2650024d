"""Checks the project's dependencies: `make audit`.

Without a network it checks that the locks pin everything that pyproject.toml asks for and what that needs, each once
and exactly; that requirements.lock alone pins everything with which a member runs (an image has nothing else); that the
environment matches the locks; that `pip check` finds no contradiction; and that every package has a licence that is
known to be acceptable.

With a network, pip-audit runs in an environment of its own and looks for advisories on every pin. If pip-audit cannot
be installed or PyPI cannot be reached, the script reports that, and fails only if `--online` is given.

The locks have no hashes, because hashes would name the wheels of one kind of machine. PyPI never serves another file
under a name that it has given out; a mirror that is not trusted to do the same needs pip's `--require-hashes` and locks
of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parent.parent
#: The lock of a member's dependencies, and that of the further ones for development.
LOCK: Final = ROOT / "requirements.lock"
DEV_LOCK: Final = ROOT / "requirements-dev.lock"
AUDITOR: Final = "pip-audit==2.10.1"
_PIN: Final = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)$")
#: Words in package metadata that name licences which allow the use of a library in other programs.
_FREE: Final = re.compile(
    r"\b(MIT(-0)?|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|LGPL|Zlib|0BSD|Unlicense)\b", re.IGNORECASE
)


def pins() -> dict[str, str]:
    """Return the versions in both locks by name. Exits the program if a line is not an exact pin, or if a name occurs
    twice.
    """
    found: dict[str, str] = {}
    for lock in (LOCK, DEV_LOCK):
        for name, version in pins_of(lock):
            if name in found:
                sys.exit(f"{lock.name}: {name} is there twice; keep one")
            found[name] = version
    return found


def pins_of(lock: Path) -> Iterator[tuple[str, str]]:
    for line in lock.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = _PIN.match(line.strip())
        if match is None:
            sys.exit(f"{lock.name}: not an exact pin: {line!r}; write NAME==VERSION")
        yield canonicalize_name(match[1]), match[2]


def _asked(*, to_run: bool) -> list[Requirement]:
    """Read the requirements of pyproject.toml. to_run: without those that are only for development."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    more = () if to_run else project["optional-dependencies"]["dev"]
    return [Requirement(text) for text in (*project["dependencies"], *more)]


def needed(locked: dict[str, str], asked: list[Requirement], where: str) -> Iterator[str]:
    """Yield requirements, and what they need in turn, that the pins do not satisfy. where: the name of the pins."""
    seen: set[tuple[str, str]] = set()
    waiting = [("pyproject.toml", requirement) for requirement in asked]
    while waiting:
        by, requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in locked:
            yield f"{by} needs {requirement}, which {where} does not pin"
        elif not requirement.specifier.contains(locked[name], prereleases=True):
            yield f"{by} needs {requirement}, and {where} pins {locked[name]}"
        else:
            for extra in ("", *requirement.extras):
                if (name, extra) not in seen:
                    seen.add((name, extra))
                    waiting += [(name, below) for below in _needs(name, extra)]


def mismatches(locked: dict[str, str]) -> Iterator[str]:
    """Yield differences of the locks from the needs of pyproject.toml and its packages, and of the environment from
    the locks.
    """
    to_run = dict(pins_of(LOCK))
    yield from needed(to_run, _asked(to_run=True), LOCK.name)
    yield from needed(locked, _asked(to_run=False), f"{LOCK.name} and {DEV_LOCK.name}")
    for name, version in locked.items():
        there = _installed(name)
        if there != version:
            yield f"the locks pin {name} {version}, and the environment has {there or 'none'}; run make setup"


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _needs(name: str, extra: str) -> Iterator[Requirement]:
    if _installed(name) is None:
        return
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def licence(name: str) -> str:
    """Return the licence in a package's metadata, from whichever of the three fields has it."""
    said = metadata.metadata(name)
    classifiers = [
        line.split("::")[-1].strip() for line in said.get_all("Classifier", []) if line.startswith("License")
    ]
    return said.get("License-Expression") or "; ".join(classifiers) or (said.get("License") or "").split("\n")[0]


def unknown_licences(locked: dict[str, str]) -> Iterator[str]:
    for name in locked:
        if _installed(name) is not None and not _FREE.search(licence(name)):
            yield f"{name}: a licence that nobody has looked at: {licence(name) or 'none said'!r}; read it, then name it in _FREE"


def _contradictions() -> Iterator[str]:
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    if done.returncode:
        yield from done.stdout.splitlines()


def _advisories(*, required: bool) -> int:
    """Run pip-audit on every pin. Returns the exit status."""
    folder = ROOT / "build" / "audit"
    program = folder / "bin" / "pip-audit"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = (folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", AUDITOR)
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        options = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--timeout", "20")
        done = subprocess.run(
            [program, *options, "-r", LOCK, "-r", DEV_LOCK], capture_output=True, text=True, check=False
        )
    if done.returncode == 0:
        _say("advisories: none on any pin")
        return 0
    if re.search(r"^Found \d+ known vulnerabilit", done.stderr, re.MULTILINE):
        _say(f"advisories:\n{done.stdout}{done.stderr}")
        return 1
    why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    _say(f"advisories: NOT LOOKED FOR, as pip-audit could not be had or could not ask: {why}")
    return int(required)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    locked = pins()
    wrong = [*mismatches(locked), *unknown_licences(locked), *_contradictions()]
    for line in wrong:
        _say(line)
    if wrong:
        return 1
    _say(f"{len(locked)} pins: what pyproject.toml needs, what is installed, no contradictions, licences known")
    return 0 if "--offline" in sys.argv else _advisories(required="--online" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
