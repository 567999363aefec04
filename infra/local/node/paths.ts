/** Where a path of the container lies on this machine. */
export interface Mount {
  mountPath: string;
  folder: string;
}

/**
 * A text with the container's paths in it made the machine's (decision 0009): a `mountPath` is replaced where a path
 * begins with it, the longest one that fits. `/data` is thus replaced in `/data`, `--dir=/data/x` and `cat >/data/y`, and
 * not in `/database` or `/srv/data`. Pure.
 */
export function translatePaths(text: string, mounts: readonly Mount[]): string {
  const usable = mounts.filter(({ mountPath }) => trimmed(mountPath) !== '');
  if (usable.length === 0) return text;
  const longest = usable.toSorted((a, b) => b.mountPath.length - a.mountPath.length);
  const alternatives = longest
    .map(({ mountPath }) => trimmed(mountPath).replaceAll(/[^\w/-]/g, String.raw`\$&`))
    .join('|');
  return text.replaceAll(
    new RegExp(`(?<![\\w./~-])(?:${alternatives})(?![\\w.-])`, 'g'),
    (path) => longest.find(({ mountPath }) => trimmed(mountPath) === path)?.folder ?? path,
  );
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '');
}
