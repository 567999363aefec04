#!/bin/sh
# Makes the database cluster on the first start, then becomes the server.
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
  making="$PGDATA.making"
  rm -rf "$making"
  mkdir -p "$making"
  "$binaries/initdb" -D "$making" -U svc --pwfile="$POSTGRES_PASSWORD_FILE" \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 >&2
  echo 'host all all all scram-sha-256' >>"$making/pg_hba.conf"
  "$binaries/pg_ctl" -D "$making" -w -o "-c listen_addresses='' -c unix_socket_directories=/tmp" -l /dev/stderr start >&2
  "$binaries/createdb" -h /tmp -U svc svc
  "$binaries/pg_ctl" -D "$making" -w -m fast stop >&2
  rm -rf "$PGDATA"
  mv "$making" "$PGDATA"
fi

# SIGINT is PostgreSQL's fast shutdown; Kubernetes sends SIGTERM, which would wait for every client to leave.
"$binaries/postgres" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp -c max_connections=200 &
server=$!
trap 'kill -INT "$server"' TERM INT
code=0
wait "$server" || code=$?
# The first wait ends when the signal comes; the second one with the server.
if kill -0 "$server" 2>/dev/null; then code=0; wait "$server" || code=$?; fi
exit "$code"
