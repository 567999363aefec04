import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Image, ImageStore } from './node/images.ts';

/** An image could not be built from a folder. The message says how to fix it. */
export class ImageBuildError extends Error {
  override readonly name = 'ImageBuildError';
}

/**
 * Builds an image from a folder: a copy of its files and a start command. The command is `command`, the line `web:` of
 * a Procfile, or the script `start` of a package.json, in this order.
 * @throws ImageBuildError when the folder does not exist or has no start command
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
  if (!existsSync(folder)) throw new ImageBuildError(`The folder ${folder} does not exist.`);
  const startedBy = command ?? procfileCommand(folder) ?? packageCommand(folder);
  if (startedBy === undefined) {
    throw new ImageBuildError(
      `${folder} has no start command. Add a Procfile with the line "web: <command>" or a package.json with the script "start", or use --command.`,
    );
  }
  // `exec` replaces the shell, so that a single program receives the signals.
  const script = /[;&|\n]/.test(startedBy) ? startedBy : `exec ${startedBy}`;
  const image = await store.add(folder, reference, { entrypoint: ['tini', '--', 'sh', '-c', script], env });
  return { ...image, startedBy };
}

/** https://devcenter.heroku.com/articles/procfile */
function procfileCommand(folder: string): string | undefined {
  const file = join(folder, 'Procfile');
  if (!existsSync(file)) return undefined;
  return /^web:(.*)$/m.exec(readFileSync(file, 'utf8'))?.[1]?.trim() || undefined;
}

function packageCommand(folder: string): string | undefined {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return undefined;
  const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts?: { start?: string } };
  if (scripts?.start === undefined) return undefined;
  // `npm start` does not forward signals, so a plain `node …` script runs without npm.
  return /^node\s[^;&|]*$/.test(scripts.start) ? scripts.start : 'npm start --silent';
}
