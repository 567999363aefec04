import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Image, ImageStore } from './node/images.ts';

/** Why no image could be made of a folder; the message says what to do. */
export class ImageBuildError extends Error {
  override readonly name = 'ImageBuildError';
}

/**
 * Makes an image of a folder: a copy of its files, and the command that starts it. That command is, in this order, the one
 * given, the line `web:` of a Procfile, or the script `start` of a package.json.
 * @throws ImageBuildError when there is no such folder, or nothing says how it is started
 */
export async function buildImage(
  store: ImageStore,
  {
    folder,
    reference,
    command,
    env,
  }: { folder: string; reference: string; command?: string; env: Record<string, string> },
): Promise<Image & { startedBy: string }> {
  if (!existsSync(folder)) throw new ImageBuildError(`There is no folder ${folder}.`);
  const startedBy = command ?? procfileCommand(folder) ?? packageCommand(folder);
  if (startedBy === undefined) {
    throw new ImageBuildError(
      `Nothing in ${folder} says how it is started: add a Procfile with a line "web: <command>", or a package.json with a script "start", or give --command.`,
    );
  }
  // A single program takes the shell's place, so that it gets the signals.
  const script = /[;&|\n]/.test(startedBy) ? startedBy : `exec ${startedBy}`;
  const image = await store.add(folder, reference, { entrypoint: ['tini', '--', 'sh', '-c', script], env });
  return { ...image, startedBy };
}

/** https://devcenter.heroku.com/articles/procfile */
function procfileCommand(folder: string): string | undefined {
  const file = join(folder, 'Procfile');
  if (!existsSync(file)) return undefined;
  return /^web:\s*(.+?)\s*$/m.exec(readFileSync(file, 'utf8'))?.[1];
}

function packageCommand(folder: string): string | undefined {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return undefined;
  const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts?: { start?: string } };
  if (scripts?.start === undefined) return undefined;
  // npm would stand between the program and its signals.
  return /^node\s[^;&|]*$/.test(scripts.start) ? scripts.start : 'npm start --silent';
}
