interface Mount {
  name: string;
  path: string;
}

/** The lines of a text that are not empty. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Mounts by lines `NAME:/path`, as `--volume` takes them. */
export function mountsOf(text: string): Mount[] {
  return linesOf(text).map((line) => {
    const split = line.indexOf(':');
    return split < 0 ? { name: line, path: '' } : { name: line.slice(0, split), path: line.slice(split + 1) };
  });
}

/** The lines of mounts. */
export function mountLines(mounts: readonly Mount[]): string {
  return mounts.map(({ name, path }) => `${name}:${path}`).join('\n');
}
