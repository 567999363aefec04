import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { planOf as planOfFiles, type Plan } from '../../../runtime/domain/folder-plan.ts';
import { BuildFailure } from './failure.ts';

/** How to build a folder without a Dockerfile. @throws BuildFailure when its files do not say so */
export function planOf(folder: string): Plan {
  const plan = planOfFiles({
    has: (name) => existsSync(join(folder, name)),
    read: (name) => readFileSync(join(folder, name), 'utf8'),
  });
  if ('fault' in plan) throw new BuildFailure(plan.fault);
  return plan;
}

/** A single command replaces the shell, so that it receives signals. */
export function entrypointOf(start: string): string[] {
  return ['tini', '--', 'sh', '-c', /[;&|\n]/.test(start) ? start : `exec ${start}`];
}
