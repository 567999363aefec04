#!/bin/sh
# Starts FerretDB, which serves MongoDB's protocol and stores its data in SQLite.
#   MONGO_INITDB_ROOT_USERNAME, MONGO_INITDB_ROOT_PASSWORD_FILE
#                           the user of the database `admin` that the first start creates, and its password; MongoDB's own
#                           image has the same variables, so either image can run a service
#   FERRETDB_DATA           the folder of the data (default /data/db, on a volume)
#   FERRETDB_PROGRAM        the server (default: the one on PATH)
#   PORT                    the port (default 27017), at LISTEN_ADDRESS (default: all addresses)
# It writes only its data. Users sign in with SCRAM; every user has all rights.
set -eu
umask 077
: "${FERRETDB_DATA:=/data/db}"
: "${MONGO_INITDB_ROOT_PASSWORD_FILE:?must name the file with the password}"
if [ ! -s "$MONGO_INITDB_ROOT_PASSWORD_FILE" ]; then
  echo "svc-ferretdb: no password in $MONGO_INITDB_ROOT_PASSWORD_FILE" >&2
  exit 1
fi
mkdir -p "$FERRETDB_DATA"
# An interrupted first start leaves the database without a user, and later starts would not create one.
if [ -f "$FERRETDB_DATA/admin.sqlite" ] && ! cat "$FERRETDB_DATA"/admin.sqlite* | grep -aq 'SCRAM-SHA-256'; then
  rm -f "$FERRETDB_DATA"/admin.sqlite*
fi
FERRETDB_SETUP_PASSWORD=$(cat "$MONGO_INITDB_ROOT_PASSWORD_FILE")
export FERRETDB_SETUP_PASSWORD
exec "${FERRETDB_PROGRAM:-ferretdb}" --handler=sqlite --sqlite-url="file:$FERRETDB_DATA/" --state-dir=- \
  --listen-addr="${LISTEN_ADDRESS:-}:${PORT:-27017}" --debug-addr=- --telemetry=disable --log-level=error \
  --test-enable-new-auth --setup-database=admin --setup-username="${MONGO_INITDB_ROOT_USERNAME:-svc}"
