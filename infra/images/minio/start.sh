#!/bin/sh
# Checks the secret key, then runs the server.
#   MINIO_ROOT_PASSWORD_FILE  the secret key of the access key `svc`, which has all rights
#   MINIO_DATA                the folder of the objects (default /var/lib/svc/minio/data, on a volume)
#   MINIO_PROGRAM             the server (default: the one on PATH)
#   MINIO_EVENTS_URL          the URL that gets the events of buckets with the notification target SVC (default: none)
#   MINIO_EVENTS_TOKEN_FILE   the token that the server sends with events; unsent events are stored next to the data
#   PORT                      the port (default 9000), at LISTEN_ADDRESS (default: all addresses)
# Besides the data, it needs only /tmp to be writable.
set -eu
umask 077
: "${MINIO_DATA:=/var/lib/svc/minio/data}"
: "${MINIO_ROOT_PASSWORD_FILE:?must name the file with the secret key}"
# Without a key, the server would use its public default.
if [ ! -s "$MINIO_ROOT_PASSWORD_FILE" ]; then
  echo "svc-minio: no secret key in $MINIO_ROOT_PASSWORD_FILE" >&2
  exit 1
fi
export MINIO_ROOT_USER=svc MINIO_BROWSER=off MINIO_UPDATE=off
# The server reads certificates from its home folder, which may not exist in a container.
export HOME="${TMPDIR:-/tmp}"
mkdir -p "$MINIO_DATA"
if [ -n "${MINIO_EVENTS_URL:-}" ] && [ -s "${MINIO_EVENTS_TOKEN_FILE:-}" ]; then
  export MINIO_NOTIFY_WEBHOOK_ENABLE_SVC=on MINIO_NOTIFY_WEBHOOK_ENDPOINT_SVC="$MINIO_EVENTS_URL"
  MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_SVC=$(cat "$MINIO_EVENTS_TOKEN_FILE")
  export MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_SVC MINIO_NOTIFY_WEBHOOK_QUEUE_DIR_SVC="${MINIO_DATA%/*}/events"
  # No event may be lost: the server must store an event before it responds to the upload, and must read the notification
  # settings of buckets before it serves.
  export MINIO_API_SYNC_EVENTS=on MINIO_SYNC_BOOT=on
fi
exec "${MINIO_PROGRAM:-minio}" server --quiet --address "${LISTEN_ADDRESS:-}:${PORT:-9000}" "$MINIO_DATA"
