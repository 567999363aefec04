#!/bin/sh
# Checks the secret key and becomes the server.
#   MINIO_ROOT_PASSWORD_FILE  the secret key of the access key `svc`, which may do everything
#   MINIO_DATA                where the objects lie (default /var/lib/svc/minio/data, on a volume)
#   MINIO_PROGRAM             the server (default: the one in PATH)
#   MINIO_EVENTS_URL          who hears what comes and goes in buckets that are told so (target SVC); default nobody
#   MINIO_EVENTS_TOKEN_FILE   the token that they know the server by; what they have not heard yet lies beside the data
#   PORT                      where it listens (default 9000), at LISTEN_ADDRESS (default all)
# It needs a writable /tmp only.
set -eu
umask 077
: "${MINIO_DATA:=/var/lib/svc/minio/data}"
: "${MINIO_ROOT_PASSWORD_FILE:?names the file with the secret key}"
# Without a key the server would take the one that everybody knows.
if [ ! -s "$MINIO_ROOT_PASSWORD_FILE" ]; then
  echo "svc-minio: there is no secret key in $MINIO_ROOT_PASSWORD_FILE" >&2
  exit 1
fi
export MINIO_ROOT_USER=svc MINIO_BROWSER=off MINIO_UPDATE=off
# It looks for certificates in its home, which a container need not have.
export HOME="${TMPDIR:-/tmp}"
mkdir -p "$MINIO_DATA"
if [ -n "${MINIO_EVENTS_URL:-}" ] && [ -s "${MINIO_EVENTS_TOKEN_FILE:-}" ]; then
  export MINIO_NOTIFY_WEBHOOK_ENABLE_SVC=on MINIO_NOTIFY_WEBHOOK_ENDPOINT_SVC="$MINIO_EVENTS_URL"
  MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_SVC=$(cat "$MINIO_EVENTS_TOKEN_FILE")
  export MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_SVC MINIO_NOTIFY_WEBHOOK_QUEUE_DIR_SVC="${MINIO_DATA%/*}/events"
  # Otherwise it answers an upload before the folder has the message, and serves before it knows which buckets are told of:
  # what is killed in between, or uploaded too soon, would be told of by nobody.
  export MINIO_API_SYNC_EVENTS=on MINIO_SYNC_BOOT=on
fi
exec "${MINIO_PROGRAM:-minio}" server --quiet --address "${LISTEN_ADDRESS:-}:${PORT:-9000}" "$MINIO_DATA"
