import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { apiVersion, kindLabel } from '../../runtime/domain/labels.ts';
import { recordObjects } from './recording.ts';

/**
 * Records the objects that the controllers of this checkout create for the story: `node tests/golden/record.ts
 * <release>`, once for each release, before it. The files of a release never change afterwards, because installations
 * hold these objects.
 */
const [release] = process.argv.slice(2);
if (release === undefined || !/^\d+\.\d+\.\d+$/.test(release)) {
  process.stderr.write('usage: node tests/golden/record.ts <release, such as 0.1.0>\n');
  process.exit(2);
}

/** One file for the workloads of a kind with their own objects; the rest belongs to the project. */
const workloadKinds = ['App', 'Function', 'Job', 'Volume', 'Service', 'Build'];

function partOf(object: KubeObject): string {
  const kind = object.apiVersion === apiVersion ? object.kind : undefined;
  const part = [kind, object.metadata.labels?.[kindLabel]].find((name) => workloadKinds.includes(name ?? ''));
  return (part ?? 'project').toLowerCase();
}

const folder = join(import.meta.dirname, release);
mkdirSync(folder, { recursive: true });
const objects = await recordObjects();
for (const part of new Set(objects.map(partOf))) {
  const text = JSON.stringify(objects.filter((object) => partOf(object) === part));
  const file = join(folder, `${part}.json`);
  writeFileSync(file, await format(text, { filepath: file, printWidth: 120 }));
}
