#!/bin/sh
# Creates the database cluster on the first start, then runs the server.
#   PGDATA                  the folder of the data (default /var/lib/svc/postgres/data, on a volume)
#   POSTGRES_PASSWORD_FILE  the password of the user `svc`, on the first start
#   PORT                    the port (default 5432), at LISTEN_ADDRESS (default: all addresses)
#   SOCKET_FOLDER           the folder of its local socket (default /tmp); empty for none
# Besides the data, it needs only /tmp and /run to be writable. An interrupted first start is repeated: the script creates
# the cluster under another name and renames it when it is complete.
set -eu
umask 077
: "${PGDATA:=/var/lib/svc/postgres/data}"
: "${POSTGRES_PASSWORD_FILE:?must name the file with the password of the user svc}"
# Debian installs the server outside of PATH.
PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Never delete data, even when its version file is missing.
  if [ -d "$PGDATA" ] && ! rmdir "$PGDATA"; then
    echo "svc-postgres: $PGDATA contains files but no database cluster. Move them away, or restore the database cluster." >&2
    exit 1
  fi
  partial="$PGDATA.partial"
  rm -rf "$partial"
  initdb -D "$partial" -U svc --pwfile="$POSTGRES_PASSWORD_FILE" \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 >&2
  echo 'host all all all scram-sha-256' >>"$partial/pg_hba.conf"
  echo 'CREATE DATABASE svc' | postgres --single -D "$partial" postgres >&2
  mv "$partial" "$PGDATA"
  sync "$(dirname "$PGDATA")"
fi

# SIGINT is PostgreSQL's fast shutdown. SIGTERM, which Kubernetes sends, would wait for every client to disconnect.
server=
trap '[ -z "$server" ] || kill -INT "$server"' TERM INT
postgres -D "$PGDATA" -p "${PORT:-5432}" -c listen_addresses="${LISTEN_ADDRESS:-*}" \
  -c unix_socket_directories="${SOCKET_FOLDER-/tmp}" -c max_connections=200 &
server=$!
# `wait` also returns when a signal arrives, so it is repeated until the server has exited.
while :; do
  code=0
  wait "$server" || code=$?
  kill -0 "$server" 2>/dev/null || exit "$code"
done
