#!/bin/sh
# Makes the data folder on the first start, then becomes the server.
#   MARIADB_DATA            where the data lies (default /var/lib/svc/mariadb/data, on a volume)
#   MARIADB_PASSWORD_FILE   the password of the user `svc`, on the first start
#   PORT                    where it listens (default 3306), at LISTEN_ADDRESS (default all)
# Its local socket lies in the data folder. It needs writable /tmp and /run only. A first start that was cut off is
# started over: the folder is made beside its place and moved there when it is whole.
set -eu
umask 077
: "${MARIADB_DATA:=/var/lib/svc/mariadb/data}"
: "${MARIADB_PASSWORD_FILE:?names the file with the password of the user svc}"
# Debian keeps servers where ordinary users do not look.
PATH="$PATH:/usr/sbin"

# MariaDB does not run as root, which it would be where a pod is a process of the machine.
as=''
if [ "$(id -u)" -eq 0 ]; then
  as='setpriv --reuid=mysql --regid=mysql --init-groups'
  chown mysql: "$(dirname "$MARIADB_DATA")"
  # The folder for temporary files of the pod is root's.
  export TMPDIR=/tmp
fi

if [ ! -d "$MARIADB_DATA/mysql" ]; then
  # Data without its system tables is somebody's trouble, and never ours to delete.
  if [ -d "$MARIADB_DATA" ] && ! rmdir "$MARIADB_DATA"; then
    echo "svc-mariadb: $MARIADB_DATA holds files but no database; it is left as it is" >&2
    exit 1
  fi
  making="$MARIADB_DATA.making"
  rm -rf "$making"
  $as mariadb-install-db --no-defaults --datadir="$making" --skip-test-db --skip-name-resolve \
    --auth-root-authentication-method=socket >&2
  password=$(sed "s/[\\\\']/\\\\&/g" "$MARIADB_PASSWORD_FILE")
  # Without the first statement the server would not know of users at all.
  $as mariadbd --no-defaults --datadir="$making" --bootstrap <<SQL
FLUSH PRIVILEGES;
CREATE DATABASE svc CHARACTER SET utf8mb4;
CREATE USER 'svc'@'%' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON *.* TO 'svc'@'%' WITH GRANT OPTION;
SQL
  mv "$making" "$MARIADB_DATA"
  sync "$(dirname "$MARIADB_DATA")"
fi

exec $as mariadbd --no-defaults --datadir="$MARIADB_DATA" --port="${PORT:-3306}" \
  --bind-address="${LISTEN_ADDRESS:-*}" --socket=mysqld.sock --pid-file=mysqld.pid --skip-name-resolve \
  --character-set-server=utf8mb4 --innodb-log-file-size=32M
