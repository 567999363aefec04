#!/bin/sh
# Writes the configuration to a file, so that the password is in no argument list, then runs the server.
#   REDIS_PASSWORD_FILE  the password of the default user
#   REDIS_DATA           the folder of the append-only file and the users (default /var/lib/svc/redis, on a volume)
#   REDIS_MAXMEMORY      the maximum memory of data, in bytes (default: no maximum); beyond it, writes are refused
#   PORT                 the port (default 6379), at LISTEN_ADDRESS (default: all addresses)
# The configuration is in TMPDIR or /run, or in /tmp if that folder is not writable.
set -eu
umask 077
: "${REDIS_PASSWORD_FILE:?must name the file with the password}"
: "${REDIS_DATA:=/var/lib/svc/redis}"
password=$(cat "$REDIS_PASSWORD_FILE")
case $password in
'')
  # To Redis, an empty password means no password.
  echo "svc-redis: the password in $REDIS_PASSWORD_FILE is empty" >&2
  exit 1
  ;;
*'
'*)
  echo "svc-redis: the password in $REDIS_PASSWORD_FILE has more than one line" >&2
  exit 1
  ;;
esac
folder=${TMPDIR:-/run}
[ -w "$folder" ] || folder=/tmp
mkdir -p "$REDIS_DATA"
# Sets the default user's password. Other users, which `ACL SAVE` has stored, are kept.
users=$REDIS_DATA/users.acl
{
  echo "user default on #$(printf '%s' "$password" | sha256sum | cut -d ' ' -f 1) ~* &* +@all"
  if [ -f "$users" ]; then sed '/^user default /d' "$users"; fi
} >"$users.new"
mv "$users.new" "$users"
rm -f "$folder/redis.conf"
cat >"$folder/redis.conf" <<CONF
bind ${LISTEN_ADDRESS:-0.0.0.0 -::*}
port ${PORT:-6379}
protected-mode yes
dir $REDIS_DATA
appendonly yes
appendfsync everysec
save ""
maxmemory ${REDIS_MAXMEMORY:-0}
maxmemory-policy noeviction
aclfile $users
CONF
exec redis-server "$folder/redis.conf"
