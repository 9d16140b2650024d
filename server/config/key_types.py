"""The types of the configuration's keys: addresses, sizes, Spark's masters, numbers of processes."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator

from server.config.address import Address

#: The masters that Spark accepts (SparkContext.createTaskScheduler, SparkMasterRegex); at least one thread.
_MASTER: Final = re.compile(
    r"local(\[(0*[1-9]\d*|\*)(,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://[^/,:\s]+:\d+(,[^/,:\s]+:\d+)*|yarn|k8s://\S+"
)
_PROCESSES_MAX: Final = 256


def _is_address(text: str) -> str:
    Address.parse(text)
    return text


def _is_memory(text: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+)?\s*[kKmMgGtT][bB]?", text):
        raise ValueError("expected a size with its unit, as in 1g or 512MB")
    return text


def _is_master(text: str) -> str:
    if not _MASTER.fullmatch(text):
        raise ValueError("expected local[N], spark://host:port, yarn or k8s://https://host:port")
    return text


def _check_processes(given: object) -> int | Literal["auto"]:
    if given == "auto":
        return "auto"
    if re.fullmatch(r"\d{1,3}", str(given)) and 1 <= int(str(given)) <= _PROCESSES_MAX:
        return int(str(given))
    raise ValueError(f"expected a number from 1 to {_PROCESSES_MAX}, or auto")


Processes = Annotated[int | Literal["auto"], BeforeValidator(_check_processes)]
Master = Annotated[str, AfterValidator(_is_master)]
HostPort = Annotated[str, AfterValidator(_is_address)]
Memory = Annotated[str, AfterValidator(_is_memory)]
