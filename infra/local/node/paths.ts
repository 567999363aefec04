/** A path in the container and its folder on this machine. */
export interface Mount {
  mountPath: string;
  folder: string;
}

/**
 * Replaces the container's paths in a text by this machine's paths (docs/decisions/0009-pods-as-processes.md). A path
 * is replaced where it begins with a `mountPath`; the longest match counts. `/data` is replaced in `/data`,
 * `--dir=/data/x` and `cat >/data/y`, but not in `/database` or `/srv/data`. Pure.
 */
export function translatePaths(text: string, mounts: readonly Mount[]): string {
  const usable = mounts.filter(({ mountPath }) => withoutTrailingSlash(mountPath) !== '');
  if (usable.length === 0) return text;
  const longest = usable.toSorted((a, b) => b.mountPath.length - a.mountPath.length);
  const alternatives = longest
    .map(({ mountPath }) => withoutTrailingSlash(mountPath).replaceAll(/[^\w/-]/g, String.raw`\$&`))
    .join('|');
  return text.replaceAll(
    new RegExp(`(?<![\\w./~-])(?:${alternatives})(?![\\w.-])`, 'g'),
    (path) => longest.find(({ mountPath }) => withoutTrailingSlash(mountPath) === path)?.folder ?? path,
  );
}

function withoutTrailingSlash(path: string): string {
  return path.replace(/(?<!\/)\/+$/, '');
}
