#!/bin/sh
# Makes the database cluster on the first start, then runs the server.
#   PGDATA                  where the data lies (default /var/lib/svc/postgres/data, on a volume)
#   POSTGRES_PASSWORD_FILE  the password of the user `svc`, on the first start
#   PORT                    where it listens (default 5432), at LISTEN_ADDRESS (default all)
#   SOCKET_FOLDER           where it makes its local socket (default /tmp); empty for none
# It needs writable /tmp and /run only. A first start that was cut off is started over: the cluster is made beside its
# place and moved there when it is whole.
set -eu
umask 077
: "${PGDATA:=/var/lib/svc/postgres/data}"
: "${POSTGRES_PASSWORD_FILE:?names the file with the password of the user svc}"
# Debian keeps its servers outside of the search path.
PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)"
password=$POSTGRES_PASSWORD_FILE

# PostgreSQL refuses to run as root, which it would be where a pod is a process of the machine.
as=''
if [ "$(id -u)" -eq 0 ]; then
  as='setpriv --reuid=postgres --regid=postgres --init-groups'
  cd "$(dirname "$PGDATA")"
  chown postgres: .
  password="$PGDATA.password"
  install -o postgres -m 0600 "$POSTGRES_PASSWORD_FILE" "$password"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Data without its version is somebody's trouble, and never ours to delete.
  if [ -d "$PGDATA" ] && ! rmdir "$PGDATA"; then
    echo "svc-postgres: $PGDATA holds files but no database cluster; it is left as it is" >&2
    exit 1
  fi
  making="$PGDATA.making"
  rm -rf "$making"
  $as initdb -D "$making" -U svc --pwfile="$password" \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 >&2
  echo 'host all all all scram-sha-256' >>"$making/pg_hba.conf"
  echo 'CREATE DATABASE svc' | $as postgres --single -D "$making" postgres >&2
  mv "$making" "$PGDATA"
  sync "$(dirname "$PGDATA")"
fi
[ -z "$as" ] || rm -f "$password"

# SIGINT is PostgreSQL's fast shutdown; Kubernetes sends SIGTERM, which would wait for every client to leave.
server=
trap '[ -z "$server" ] || kill -INT "$server"' TERM INT
$as postgres -D "$PGDATA" -p "${PORT:-5432}" -c listen_addresses="${LISTEN_ADDRESS:-*}" \
  -c unix_socket_directories="${SOCKET_FOLDER-/tmp}" -c max_connections=200 &
server=$!
# A wait ends when a signal comes, too; the last one with the server.
while :; do
  code=0
  wait "$server" || code=$?
  kill -0 "$server" 2>/dev/null || exit "$code"
done
