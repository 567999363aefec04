#!/bin/sh
# Makes the database cluster on the first start, then runs the server.
#   PGDATA                  where the data lies (default /var/lib/svc/postgres/data, on a volume)
#   POSTGRES_PASSWORD_FILE  the password of the user `svc`, on the first start
# It needs writable /tmp and /run only. A first start that was cut off is started over: the cluster is made beside its
# place and moved there when it is whole.
set -eu
umask 077
: "${PGDATA:=/var/lib/svc/postgres/data}"
: "${POSTGRES_PASSWORD_FILE:?names the file with the password of the user svc}"
binaries=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Data without its version is somebody's trouble, and never ours to delete.
  if [ -d "$PGDATA" ] && ! rmdir "$PGDATA"; then
    echo "svc-postgres: $PGDATA holds files but no database cluster; it is left as it is" >&2
    exit 1
  fi
  making="$PGDATA.making"
  rm -rf "$making"
  mkdir -p "$making"
  "$binaries/initdb" -D "$making" -U svc --pwfile="$POSTGRES_PASSWORD_FILE" \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 >&2
  echo 'host all all all scram-sha-256' >>"$making/pg_hba.conf"
  echo 'CREATE DATABASE svc' | "$binaries/postgres" --single -D "$making" postgres >&2
  mv "$making" "$PGDATA"
  sync "$(dirname "$PGDATA")"
fi

# SIGINT is PostgreSQL's fast shutdown; Kubernetes sends SIGTERM, which would wait for every client to leave.
server=
trap '[ -z "$server" ] || kill -INT "$server"' TERM INT
"$binaries/postgres" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp -c max_connections=200 &
server=$!
# A wait ends when a signal comes, too; the last one with the server.
while :; do
  code=0
  wait "$server" || code=$?
  kill -0 "$server" 2>/dev/null || exit "$code"
done
