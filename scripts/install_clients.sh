#!/usr/bin/env bash
# Installs the programs with which the tests compare and connect: PostgreSQL 15 (server and psql), its JDBC and ODBC drivers,
# PgBouncer, and Chromium for the console.
# An installed node and npm are used whatever their versions.
# The packages are Debian 12's; a test that needs a missing one says so.
set -euo pipefail
packages=(postgresql-15 postgresql-client-15 libpostgresql-jdbc-java unixodbc odbc-postgresql pgbouncer chromium)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
((${#missing[@]} == 0)) && exit 0
echo "installing ${missing[*]}"
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
