import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildFailure } from './failure.ts';

/** How to build a folder without a Dockerfile. */
export interface Plan {
  language: 'node' | 'python';
  /** The shell command that starts the program. */
  start: string;
}

/**
 * Derives the plan from a folder's files: `package.json` means Node; `requirements.txt`, `main.py` or `app.py` mean Python.
 * The start command is the line `web:` of the Procfile, the script `start`, or that Python file.
 * @throws BuildFailure when these files are missing or incomplete
 */
export function planOf(folder: string): Plan {
  const procfile = procfileCommand(folder);
  if (existsSync(join(folder, 'package.json'))) {
    const start = procfile ?? packageCommand(folder);
    if (start !== undefined) return { language: 'node', start };
    throw new BuildFailure('package.json has no script "start": add one, or a Procfile with a line "web: <command>"');
  }
  const file = ['main.py', 'app.py'].find((name) => existsSync(join(folder, name)));
  if (file !== undefined || existsSync(join(folder, 'requirements.txt'))) {
    const start = procfile ?? (file && `python3 ${file}`);
    if (start !== undefined) return { language: 'python', start };
    throw new BuildFailure('the start command is unknown: add a Procfile with a line "web: <command>"');
  }
  throw new BuildFailure(
    'the folder that is built has no Dockerfile, package.json or requirements.txt; choose another folder with `svc app git set --path`',
  );
}

/** https://devcenter.heroku.com/articles/procfile */
function procfileCommand(folder: string): string | undefined {
  const file = join(folder, 'Procfile');
  if (!existsSync(file)) return undefined;
  return /^web:(.*)$/m.exec(readFileSync(file, 'utf8'))?.[1]?.trim() || undefined;
}

/** The script `start` of a package.json. @throws BuildFailure for one that cannot be read */
function packageCommand(folder: string): string | undefined {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return undefined;
  const start = scriptsOf(file)['start'];
  if (start === undefined) return undefined;
  // Started directly, the program receives signals, which npm would not pass on.
  return /^node\s[^;&|]*$/.test(start) ? start : 'npm start --silent';
}

function scriptsOf(file: string): Record<string, string | undefined> {
  try {
    const { scripts = {} } = JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> };
    return scripts;
  } catch (error) {
    throw new BuildFailure(`package.json is invalid: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A single command replaces the shell, so that it receives signals. */
export function entrypointOf(start: string): string[] {
  return ['tini', '--', 'sh', '-c', /[;&|\n]/.test(start) ? start : `exec ${start}`];
}
