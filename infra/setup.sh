#!/bin/sh
# Makes a fresh checkout ready to run: npm packages (Node 24 among them, and the Node of functions) and the programs of the
# system that the platform and its tests use. Does nothing, quickly, where everything is there.
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
  advice="install these with the system's package manager:$missing"
  command -v dnf >/dev/null && advice='sudo dnf install redis postgresql-server'
  command -v zypper >/dev/null && advice='sudo zypper install redis postgresql-server'
  command -v pacman >/dev/null && advice='sudo pacman -S redis postgresql'
  command -v apk >/dev/null && advice='sudo apk add redis postgresql'
  say "the platform keeps its records in PostgreSQL and its queues in Redis, and not both are here. Please: $advice"
  say 'then run the command again'
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  say "PostgreSQL or Redis is missing; please run: sudo apt-get install$missing"
  say "the platform starts its own copies: those of the system may be kept from running with"
  say '  sudo systemctl disable --now redis-server postgresql'
  exit 1
fi
say "installing with apt-get:$missing"
# The servers are started privately, on ports of their own: the system's must not start by themselves.
policy=/usr/sbin/policy-rc.d
[ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && trap 'rm -f "$policy"' EXIT; }
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
