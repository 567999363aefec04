#!/bin/sh
# Writes the configuration, so that the password stands in no argument list, and becomes the server.
#   REDIS_PASSWORD_FILE  the password that clients must give
#   REDIS_DATA           where the append-only file lies (default /var/lib/svc/redis, on a volume)
# The configuration goes to /run where that is writable, else to /tmp.
set -eu
umask 077
: "${REDIS_PASSWORD_FILE:?names the file with the password}"
: "${REDIS_DATA:=/var/lib/svc/redis}"
password=$(cat "$REDIS_PASSWORD_FILE")
case $password in
'')
  # Redis would take it for "no password".
  echo "svc-redis: the password in $REDIS_PASSWORD_FILE is empty" >&2
  exit 1
  ;;
*'
'*)
  echo "svc-redis: the password in $REDIS_PASSWORD_FILE has more than one line" >&2
  exit 1
  ;;
esac
folder=/run
[ -w "$folder" ] || folder=/tmp
mkdir -p "$REDIS_DATA"
rm -f "$folder/redis.conf"
cat >"$folder/redis.conf" <<CONF
bind 0.0.0.0 -::*
protected-mode yes
dir $REDIS_DATA
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
requirepass "$(printf '%s' "$password" | sed 's/[\\"]/\\&/g')"
CONF
exec redis-server "$folder/redis.conf"
