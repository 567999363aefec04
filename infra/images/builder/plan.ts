import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildFailure } from './failure.ts';

/** How a folder becomes an image when no Dockerfile says so. */
export interface Plan {
  language: 'node' | 'python';
  /** What starts the program, as a command of the shell. */
  start: string;
}

/**
 * What a folder's own files say: `package.json` makes it a Node program, `requirements.txt` or a Python file named
 * `main.py` or `app.py` one in Python. It is started by the line `web:` of its Procfile, or the script `start`, or that file.
 * @throws BuildFailure when they say too little
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
    throw new BuildFailure('nothing says how the program is started: add a Procfile with a line "web: <command>"');
  }
  throw new BuildFailure(
    'there is no Dockerfile, package.json or requirements.txt in the folder that is built; `svc app git set --path` names another folder',
  );
}

/** https://devcenter.heroku.com/articles/procfile */
export function procfileCommand(folder: string): string | undefined {
  const file = join(folder, 'Procfile');
  if (!existsSync(file)) return undefined;
  return /^web:\s*(.+?)\s*$/m.exec(readFileSync(file, 'utf8'))?.[1];
}

/** The script `start` of a package.json. @throws BuildFailure for one that cannot be read */
export function packageCommand(folder: string): string | undefined {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return undefined;
  const start = scriptsOf(file)['start'];
  if (start === undefined) return undefined;
  // npm would stand between the program and its signals.
  return /^node\s[^;&|]*$/.test(start) ? start : 'npm start --silent';
}

function scriptsOf(file: string): Record<string, string | undefined> {
  try {
    const { scripts = {} } = JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> };
    return scripts;
  } catch (error) {
    throw new BuildFailure(`package.json cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A single program takes the shell's place, so that it gets the signals. */
export function entrypointOf(start: string): string[] {
  return ['tini', '--', 'sh', '-c', /[;&|\n]/.test(start) ? start : `exec ${start}`];
}
