#!/bin/sh
# Creates the data folder on the first start, then runs the server.
#   MARIADB_DATA            the folder of the data (default /var/lib/svc/mariadb/data, on a volume)
#   MARIADB_PASSWORD_FILE   the password of the user `svc`, on the first start
#   PORT                    the port (default 3306), at LISTEN_ADDRESS (default: all addresses)
# Its local socket is in the data folder. Besides the data, it needs only /tmp and /run to be writable. An interrupted first
# start is repeated: the script creates the folder under another name and renames it when it is complete.
set -eu
umask 077
: "${MARIADB_DATA:=/var/lib/svc/mariadb/data}"
: "${MARIADB_PASSWORD_FILE:?must name the file with the password of the user svc}"
# Debian installs servers outside of an ordinary user's PATH.
PATH="$PATH:/usr/sbin"

if [ ! -d "$MARIADB_DATA/mysql" ]; then
  # Never delete data, even when its system tables are missing.
  if [ -d "$MARIADB_DATA" ] && ! rmdir "$MARIADB_DATA"; then
    echo "svc-mariadb: $MARIADB_DATA contains files but no database. Move them away, or restore the database." >&2
    exit 1
  fi
  partial="$MARIADB_DATA.partial"
  rm -rf "$partial"
  mariadb-install-db --no-defaults --datadir="$partial" --skip-test-db --skip-name-resolve \
    --auth-root-authentication-method=socket >&2
  password=$(sed "s/[\\\\']/\\\\&/g" "$MARIADB_PASSWORD_FILE")
  # In bootstrap mode, the server loads the grant tables only with the first statement.
  mariadbd --no-defaults --datadir="$partial" --bootstrap <<SQL
FLUSH PRIVILEGES;
CREATE DATABASE svc CHARACTER SET utf8mb4;
CREATE USER 'svc'@'%' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON *.* TO 'svc'@'%' WITH GRANT OPTION;
SQL
  mv "$partial" "$MARIADB_DATA"
  sync "$(dirname "$MARIADB_DATA")"
fi

exec mariadbd --no-defaults --datadir="$MARIADB_DATA" --port="${PORT:-3306}" \
  --bind-address="${LISTEN_ADDRESS:-*}" --socket=mysqld.sock --pid-file=mysqld.pid --skip-name-resolve \
  --character-set-server=utf8mb4 --innodb-log-file-size=32M
