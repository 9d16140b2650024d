"""Coverage-guided fuzzing of `targets` with atheris: `python -m fuzzing [TARGET ...] [--seconds 20]`, or `make fuzz`.

Each target has its own process, because libFuzzer ends the process in which it runs. The process is forked from one
that has already instrumented the product, which takes longer than many a target's run. The corpus that a target builds
is kept in `build/fuzz/corpus/TARGET` and used by the next run. An input that violates a contract is written to
`build/fuzz/` and makes the whole run fail. `python -m fuzzing TARGET --replay FILE` runs one input.

With `--seed` a run is the same each time: it begins with the seeds of `targets` alone and keeps nothing. `--runs`
limits the number of inputs, so that a slower machine, on which the time limit ends the run earlier, tries the first
inputs of a faster one and no others. libFuzzer cannot fix the randomness of Python's own hashes: set PYTHONHASHSEED, as
the Makefile does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzing.targets import Target

_FOLDER = Path("build/fuzz")
_MEMORY_MB = 2048
#: Of one input, by the clock; longer is a hang. Far more than any input takes on a machine that others use as well.
_INPUT_SECONDS = 60


@dataclass(frozen=True)
class Limits:
    """The limits of each target. runs: the maximum number of inputs, -1 for any number. seed: None for another one each
    time.
    """

    seconds: int
    runs: int
    seed: int | None

    def flags(self, target: Target) -> Iterator[str]:
        yield f"-max_total_time={self.seconds}"
        yield f"-runs={self.runs // target.weight if self.runs > 0 else -1}"
        if self.seed is not None:
            yield f"-seed={self.seed}"


def main() -> int:
    arguments = argparse.ArgumentParser(prog="fuzzing")
    arguments.add_argument("targets", nargs="*")
    arguments.add_argument("--seconds", type=int, default=20, help="of each target, at most")
    arguments.add_argument(
        "--runs", type=int, default=-1, help="inputs of each target, at most; fewer where one takes long"
    )
    arguments.add_argument("--seed", type=int, help="fixes chance, and leaves out what was learnt before")
    arguments.add_argument("--workers", type=int, default=os.cpu_count(), help="targets that run at the same time")
    arguments.add_argument("--replay", type=Path)
    said = arguments.parse_args()
    if said.replay is not None:
        from fuzzing.targets import TARGETS

        TARGETS[said.targets[0]].run(said.replay.read_bytes())
        return 0
    limits = Limits(said.seconds, said.runs, said.seed)
    targets = _instrumented()
    failed = _run_all([targets[name] for name in said.targets or targets], limits, said.workers)
    print("broken: " + ", ".join(failed) if failed else "no target is broken")
    return bool(failed)


def _instrumented() -> Mapping[str, Target]:
    """Return the targets, over code that counts its branches. atheris instruments whole packages, and prints each
    module's name to stderr.
    """
    import atheris

    with contextlib.redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["wire", "engine", "server"]):
        from fuzzing.targets import TARGETS
    return TARGETS


def _run_all(targets: Sequence[Target], limits: Limits, workers: int) -> list[str]:
    """Run each target in its own process, `workers` at a time. Returns the names of those that failed."""
    failed, waiting = list[str](), deque(targets)
    running: dict[int, tuple[Target, contextlib.ExitStack]] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            target, resources = waiting.popleft(), contextlib.ExitStack()
            running[_start(target, limits, resources)] = target, resources
        pid, status = os.wait()
        target, resources = running.pop(pid)
        resources.close()
        code = os.waitstatus_to_exitcode(status)
        lines = _log(target).read_text(errors="replace").splitlines()
        print(f"== {target.name}", *(lines[-40:] if code else lines[-1:]), sep="\n", flush=True)
        if code:
            failed.append(target.name)
    return failed


def _start(target: Target, limits: Limits, resources: contextlib.ExitStack) -> int:
    """Fork the target's process. Returns its process id. resources: what is to be closed when it has ended."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    corpus = resources.enter_context(_corpus(target.name, remembers=limits.seed is None))
    child = os.fork()
    if child == 0:
        _fuzz(target, corpus, limits, _log(target))
    return child


def _log(target: Target) -> Path:
    """Return the file of libFuzzer's messages."""
    return _FOLDER / f"{target.name}.log"


@contextlib.contextmanager
def _corpus(name: str, *, remembers: bool) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sluice-fuzz-") as fresh:
        folder = _FOLDER / "corpus" / name if remembers else Path(fresh)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def _fuzz(target: Target, corpus: Path, limits: Limits, log: Path) -> None:
    """Fuzz one target. Does not return."""
    import atheris

    with log.open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    bounds = (f"-rss_limit_mb={_MEMORY_MB}", f"-timeout={_INPUT_SECONDS}", "-max_len=4096")
    prefix = f"-artifact_prefix={_FOLDER}/{target.name}-"
    atheris.Setup([sys.argv[0], str(corpus), *limits.flags(target), *bounds, prefix], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
