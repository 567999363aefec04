import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from './own-folder.ts';

/**
 * A program `go` that compiles packages to the text `compiled`, and a module (`-o`) to the content of its cache. As a
 * tenant's code might, the build of a module then changes all that it finds in the cache.
 */
export function fakeGo(t: { teardown(end: () => unknown): void }) {
  const folder = ownFolder(t);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of ['version', 'calls', 'script']) writeFileSync(join(folder, name), '');
  const script = `#!/bin/sh
folder='${folder}'
case "$1 $*" in
  env*) cat "$folder/version" ;;
  *' -o '*)
    mkdir -p .svc && cat "$GOCACHE"/*/* >"$4" 2>/dev/null
    for file in "$GOCACHE"/*/*; do echo changed >"$file"; done
    exit 0 ;;
  *)
    echo "$*" >>"$folder/calls"
    mkdir "$GOCACHE/00" && echo compiled >"$GOCACHE/00/net-d"
    . "$folder/script" ;;
esac
`;
  writeFileSync(join(bin, 'go'), script);
  chmodSync(join(bin, 'go'), 0o755);
  const become = (version: string) => writeFileSync(join(folder, 'version'), `${version}\n/usr/local/go\n1\ngcc\n`);
  become('go1.26.8');
  return {
    folder,
    path: `${bin}:/usr/bin:/bin`,
    /** Another version of the toolchain. */
    become,
    /** What it also does when it compiles packages. */
    also: (script: string) => writeFileSync(join(folder, 'script'), script),
    /** How often packages were compiled. */
    compilations: () => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n').filter(Boolean),
  };
}
