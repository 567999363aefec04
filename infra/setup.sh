#!/bin/sh
# Makes a fresh checkout ready to run: npm packages (Node 24 among them) and the programs of the system that the platform
# and its tests use. Does nothing, quickly, where everything is there.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "setup: $*" >&2; }

if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  say 'installing the npm packages of package-lock.json'
  npm ci --no-audit --no-fund --loglevel=error >&2
  touch node_modules/.package-lock.json
fi

# tap runs without its TypeScript plugin (Node strips the types), so its test class is built once for this checkout.
if [ ! -f node_modules/.tap-built ] || [ package.json -nt node_modules/.tap-built ]; then
  node_modules/.bin/tap build >/dev/null
  touch node_modules/.tap-built
fi

missing=''
command -v redis-server >/dev/null || missing="$missing redis-server"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  say "please install these with the system's package manager, then run the command again:$missing"
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  say "please run: sudo apt-get install$missing"
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
