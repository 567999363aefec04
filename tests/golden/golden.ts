import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';

/** The releases whose objects are stored here, oldest first. */
export function goldenReleases(): string[] {
  return readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The objects that the controllers of a release left in a cluster; see `record.ts`. */
export function goldenObjects(release: string): Stored<KubeObject>[] {
  const folder = join(import.meta.dirname, release);
  return readdirSync(folder).flatMap(
    (file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Stored<KubeObject>[],
  );
}
