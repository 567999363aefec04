#!/bin/sh
# Installs the dependencies of a fresh checkout: npm packages (including Node 24 and the Node of functions), PostgreSQL and
# Redis. Does nothing if all of them are installed.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "setup: $*" >&2; }

for folder in . infra/local/function-node; do
  installed=$folder/node_modules/.package-lock.json
  if [ ! -f "$installed" ] || [ "$folder/package-lock.json" -nt "$installed" ]; then
    say "installing the npm packages of $folder/package-lock.json"
    npm ci --prefix "$folder" --no-audit --no-fund --loglevel=error >&2
    touch "$installed"
  fi
done

missing=''
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  advice="install with your package manager:$missing"
  command -v dnf >/dev/null && advice='sudo dnf install redis postgresql-server'
  command -v zypper >/dev/null && advice='sudo zypper install redis postgresql-server'
  command -v pacman >/dev/null && advice='sudo pacman -S redis postgresql'
  command -v apk >/dev/null && advice='sudo apk add redis postgresql'
  say "the platform needs PostgreSQL and Redis. Please run: $advice"
  say 'Then run the command again.'
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  say "the platform needs PostgreSQL and Redis. Please run: sudo apt-get install$missing"
  say "The platform starts its own copies. To keep the system's copies from running:"
  say '  sudo systemctl disable --now redis-server postgresql'
  exit 1
fi
say "installing with apt-get:$missing"
# The project starts its own servers on other ports, so the system's servers must not start.
policy=/usr/sbin/policy-rc.d
[ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && trap 'rm -f "$policy"' EXIT; }
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
