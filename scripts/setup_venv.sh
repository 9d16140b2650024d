#!/usr/bin/env bash
# Creates the virtual environment and installs the locked dependencies and Sluice itself into it.
# Usage: setup_venv.sh PYTHON VENV
set -euo pipefail
python=$1 venv=$2
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Sluice needs Python 3.11 or later; '$python' is not. Say which one: make setup PYTHON=python3.12" >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "This Python has no venv module. On Debian and Ubuntu: sudo apt-get install python3-venv" >&2
  exit 1
fi
[ -x "$venv/bin/python" ] || { echo "creating $venv"; "$python" -m venv "$venv"; }
echo "installing dependencies into $venv (about 700 MB, once)"
"$venv/bin/pip" install --quiet --disable-pip-version-check --progress-bar on -r requirements.lock -r requirements-dev.lock
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -e .
