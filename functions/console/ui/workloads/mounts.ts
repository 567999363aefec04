import { filledLines } from '../parts/lines.ts';

interface Mount {
  name: string;
  path: string;
}

/** Mounts by lines `NAME:/path`, as `--volume` takes them. */
export function mountsOf(text: string): Mount[] {
  return filledLines(text).map((line) => {
    const split = line.indexOf(':');
    return split < 0 ? { name: line, path: '' } : { name: line.slice(0, split), path: line.slice(split + 1) };
  });
}

/** The lines of mounts. */
export function mountLines(mounts: readonly Mount[]): string {
  return mounts.map(({ name, path }) => `${name}:${path}`).join('\n');
}
