#!/usr/bin/env bash
# Installs what the tests compare with and connect through: PostgreSQL 15 (server and psql), its JDBC and ODBC drivers, PgBouncer, and
# Chromium for the console.
# Of node and npm whatever is there is taken.
# Debian 12's packages; the tests that need one of them say so when it is missing.
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
