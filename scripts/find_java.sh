#!/usr/bin/env bash
# Checks for Java 17 or later, which Spark needs; installs it if the system's package manager allows, and otherwise prints what to
# do.
set -euo pipefail
major() { "$1" -version 2>&1 | sed -nE '1s/.*version "([0-9]+).*/\1/p'; }
enough() { local found; found=$(command -v "$1" 2>/dev/null) && [ -n "$found" ] && [ "$(major "$found")" -ge 17 ] 2>/dev/null; }
[ -n "${JAVA_HOME:-}" ] && enough "$JAVA_HOME/bin/java" && exit 0
enough java && exit 0
root() { if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo "$@"; else return 1; fi; }
echo "Java 17 or later is missing: trying to install it"
if command -v apt-get >/dev/null; then
  root apt-get update -qq && root apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless && exit 0
elif command -v dnf >/dev/null; then
  root dnf install -y -q java-17-openjdk-headless && exit 0
elif command -v brew >/dev/null; then
  brew install --quiet openjdk@17 && exit 0
fi
cat >&2 <<'EOF'
Java 17 or later is missing and could not be installed here. Do one of these, then run make again:
  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless
  Fedora, RHEL:    sudo dnf install java-17-openjdk-headless
  macOS:           brew install openjdk@17
  elsewhere:       install a JDK 17 and set JAVA_HOME to it
EOF
exit 1
