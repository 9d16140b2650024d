"""The end of a process whose shutdown hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import server.serving


def test_a_shutdown_that_hangs_says_how_long_it_had() -> None:
    root = Path(server.serving.__file__).parents[1]
    code = "from server.serving import _end_anyway; _end_anyway(75.0)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "the member could not end within 75 s; its threads are:" in ended.stderr
    assert "_end_anyway" in ended.stderr
