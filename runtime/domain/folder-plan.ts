/** What a folder without a Dockerfile may contain: `other` has a Procfile only. */
export const languages = ['node', 'python', 'go', 'static', 'other'] as const;

export type Language = (typeof languages)[number];

/** The base images of an installation, each for builds of one language. */
export type BaseImages = Readonly<Partial<Record<'node' | 'python' | 'go', string | undefined>>>;

/**
 * The image that a program runs in, and for Go also the one that compiles it; undefined without them. A static site has a
 * server in JavaScript, a command of a Procfile runs where most programs are, and a Go program needs nothing, so all of them
 * run in the base image of Node, which every node of the cluster has. Pure.
 */
export function baseImagesOf(language: Language, images: BaseImages): { runs: string; compiles?: string } | undefined {
  const runs = language === 'python' ? images.python : images.node;
  if (runs === undefined) return undefined;
  if (language !== 'go') return { runs };
  return images.go === undefined ? undefined : { runs, compiles: images.go };
}

/**
 * Why a cluster does not build a folder without a Dockerfile, and what to do. The embedded cluster has all languages as
 * programs. Pure.
 */
export function noBaseImage(language: Language): { reason: string; remedy: string } {
  return { reason: `the platform has no base image for ${names[language]}`, remedy: 'add a Dockerfile' };
}

const names: Readonly<Record<Language, string>> = {
  node: 'Node',
  python: 'Python',
  go: 'Go',
  static: 'static sites',
  other: 'a Procfile alone',
};

/** How to build a folder without a Dockerfile. */
export interface Plan {
  language: Language;
  /** The shell command that starts the program. */
  start: string;
}

/** The files of a folder, by name. */
export interface FolderFiles {
  has(name: string): boolean;
  read(name: string): string;
}

/** The files of which one is needed to build a folder without a Dockerfile. */
const planFiles = [
  'package.json',
  'requirements.txt',
  'pyproject.toml',
  'main.py',
  'app.py',
  'go.mod',
  'Procfile',
  'index.html',
];

/** Whether a folder may be built without a Dockerfile, by the names of its files alone. Pure. */
export function mayHavePlan(has: (name: string) => boolean): boolean {
  return planFiles.some(has);
}

/** Why the embedded cluster does not build a folder that has only a Dockerfile, and what to do. */
export function onlyDockerfile(dockerfile: string): { reason: string; remedy: string } {
  return {
    reason: `the embedded cluster runs programs of this machine and no containers, so it cannot build ${dockerfile}`,
    remedy:
      'add a Procfile with the line "web: <command>", or deploy to a cluster (on this machine: npm start -- --cluster)',
  };
}

/** The folder for what the platform adds: the server of a static site, or the program of a Go module. */
export const ownFolder = '.svc';
export const staticServer = `${ownFolder}/static-server.mjs`;
export const goProgram = `${ownFolder}/app`;
/** The folders that installers create in a folder for its dependencies. */
export const dependencyFolders = ['node_modules', '.packages'] as const;

/**
 * Derives the plan from a folder's files: `package.json` means Node; `requirements.txt`, `pyproject.toml`, `main.py` or `app.py`
 * Python; `go.mod` Go; a Procfile alone any program; `index.html` a static site. The start command is the line `web:` of the
 * Procfile, or what is usual for the language: the script `start`, the Python file, the Go program. Pure.
 * @returns a fault when these files are missing or incomplete
 */
export function planOf(files: FolderFiles): Plan | { fault: string } {
  const procfile = procfileCommand(files, 'web');
  if (files.has('package.json')) {
    const start = procfile === undefined ? packageCommand(files.read('package.json')) : { command: procfile };
    return 'fault' in start ? start : { language: 'node', start: start.command };
  }
  const file = ['main.py', 'app.py'].find((name) => files.has(name));
  if (file !== undefined || files.has('requirements.txt') || files.has('pyproject.toml')) {
    const start = procfile ?? (file && `python3 ${file}`);
    if (start !== undefined) return { language: 'python', start };
    return { fault: 'the start command is unknown: add a Procfile with a line "web: <command>"' };
  }
  if (files.has('go.mod')) return { language: 'go', start: procfile ?? `./${goProgram}` };
  if (procfile !== undefined) return { language: 'other', start: procfile };
  if (files.has('index.html')) return { language: 'static', start: `node ${staticServer}` };
  return {
    fault:
      'the folder has no Dockerfile, package.json, requirements.txt, pyproject.toml, go.mod, Procfile or index.html; choose another folder (svc deploy <folder>, svc app git set --path)',
  };
}

/** The shell command of a process type in the Procfile. https://devcenter.heroku.com/articles/procfile */
export function procfileCommand(files: FolderFiles, type: 'web' | 'release'): string | undefined {
  if (!files.has('Procfile')) return undefined;
  const lines = files.read('Procfile').split('\n');
  const line = lines.find((each) => each.startsWith(`${type}:`));
  return line?.slice(type.length + 1).trim() || undefined;
}

/** The script `start` of a package.json. */
function packageCommand(text: string): { command: string } | { fault: string } {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: Record<string, string> };
    const start = scripts?.['start'];
    if (start === undefined) {
      return { fault: 'package.json has no script "start": add one, or a Procfile with a line "web: <command>"' };
    }
    // Started directly, the program receives signals, which npm would not pass on.
    return { command: /^node\s[^;&|]*$/.test(start) ? start : 'npm start --silent' };
  } catch (error) {
    return { fault: `package.json is invalid: ${error instanceof Error ? error.message : String(error)}` };
  }
}
