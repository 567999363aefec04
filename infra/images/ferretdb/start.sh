#!/bin/sh
# Becomes the server, which speaks MongoDB's protocol and keeps its data in SQLite.
#   MONGO_INITDB_ROOT_USERNAME, MONGO_INITDB_ROOT_PASSWORD_FILE
#                           the user of the database `admin` that the first start makes, and its password: the variables
#                           of MongoDB's own image, so that a service runs with the one as with the other
#   FERRETDB_DATA           where the data lies (default /data/db, on a volume)
#   FERRETDB_PROGRAM        the server (default: the one in PATH)
#   PORT                    where it listens (default 27017), at LISTEN_ADDRESS (default all)
# It writes nothing but its data. Users sign in with SCRAM; one that has signed in may do everything.
set -eu
umask 077
: "${FERRETDB_DATA:=/data/db}"
: "${MONGO_INITDB_ROOT_PASSWORD_FILE:?names the file with the password}"
if [ ! -s "$MONGO_INITDB_ROOT_PASSWORD_FILE" ]; then
  echo "svc-ferretdb: there is no password in $MONGO_INITDB_ROOT_PASSWORD_FILE" >&2
  exit 1
fi
mkdir -p "$FERRETDB_DATA"
# A first start that was cut off leaves the database without a user, and no later one would make it.
if [ -f "$FERRETDB_DATA/admin.sqlite" ] && ! cat "$FERRETDB_DATA"/admin.sqlite* | grep -aq 'SCRAM-SHA-256'; then
  rm -f "$FERRETDB_DATA"/admin.sqlite*
fi
FERRETDB_SETUP_PASSWORD=$(cat "$MONGO_INITDB_ROOT_PASSWORD_FILE")
export FERRETDB_SETUP_PASSWORD
exec "${FERRETDB_PROGRAM:-ferretdb}" --handler=sqlite --sqlite-url="file:$FERRETDB_DATA/" --state-dir=- \
  --listen-addr="${LISTEN_ADDRESS:-}:${PORT:-27017}" --debug-addr=- --telemetry=disable --log-level=error \
  --test-enable-new-auth --setup-database=admin --setup-username="${MONGO_INITDB_ROOT_USERNAME:-svc}"
