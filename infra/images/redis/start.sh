#!/bin/sh
# Writes the configuration, so that the password stands in no argument list, and becomes the server.
#   REDIS_PASSWORD_FILE  the password that clients must give
#   REDIS_DATA           where the append-only file lies (default /var/lib/svc/redis, on a volume)
set -eu
umask 077
: "${REDIS_PASSWORD_FILE:?names the file with the password}"
: "${REDIS_DATA:=/var/lib/svc/redis}"
mkdir -p "$REDIS_DATA"
cat >/tmp/redis.conf <<CONF
bind 0.0.0.0 -::*
protected-mode yes
dir $REDIS_DATA
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
requirepass $(cat "$REDIS_PASSWORD_FILE")
CONF
exec redis-server /tmp/redis.conf
