import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourceBuilds } from '../../runtime/contracts/api/sources.ts';
import { noBaseImage, onlyDockerfile, planOf } from '../../runtime/domain/folder-plan.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure, unlessMissing } from '../failure.ts';
import type { Scope } from '../scope.ts';

/**
 * Asks the platform whether it builds Dockerfiles, and says what it does with this folder otherwise. Before the upload, because
 * the build would say so only after it.
 * @throws Failure `unknown_folder` when the folder has nothing else to build, or needs a Dockerfile; `unavailable` when the platform builds nothing
 */
export async function checkDockerfile(
  context: Context,
  scope: Scope,
  folder: string,
  dockerfile = 'Dockerfile',
): Promise<void> {
  const builds = await unlessMissing(scope.api.call('GET', scope.path('sources'), sourceBuilds));
  const has = (name: string) => existsSync(join(folder, name));
  // An API without this route says it in the build.
  if (!builds || builds.dockerfiles === has(dockerfile)) return;
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const plan = planOf({ has, read });
  if (builds.dockerfiles) {
    if ('fault' in plan || builds.languages?.includes(plan.language) !== false) return;
    const { reason, remedy } = noBaseImage(plan.language);
    throw new Failure(`Cannot deploy ${folder}: ${reason}.`, {
      code: 'unknown_folder',
      exitCode: exitCodes.usage,
      hint: remedy,
    });
  }
  if ('fault' in plan) {
    const { reason, remedy } = onlyDockerfile(dockerfile);
    const command = commandOf(read(dockerfile));
    throw new Failure(`Cannot deploy ${folder}: ${reason}.`, {
      code: 'unknown_folder',
      exitCode: exitCodes.usage,
      hint: command === undefined ? remedy : remedy.replace('<command>', () => command),
    });
  }
  context.say(`${dockerfile} is ignored: the embedded cluster has no containers and builds the folder instead`);
}

/** The command of a Dockerfile's last CMD, which is a proposal only; undefined when it has an ENTRYPOINT or continues in other lines. */
function commandOf(text: string): string | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  if (lines.some((line) => /^ENTRYPOINT\s/i.test(line))) return undefined;
  const command = lines
    .findLast((line) => /^CMD\s/i.test(line))
    ?.slice('CMD '.length)
    .trim();
  if (command === undefined || command === '' || command.endsWith('\\') || command.length > 200) return undefined;
  if (!command.startsWith('[')) return command;
  try {
    const words: unknown = JSON.parse(command);
    const isPlain =
      Array.isArray(words) && words.every((word) => typeof word === 'string' && /^[\w./:=@%+,-]+$/.test(word));
    return isPlain ? words.join(' ') : undefined;
  } catch {
    return undefined;
  }
}
