import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import {
  projectFileKinds,
  type ProjectFileKind,
  type ProjectFileObjects,
} from '../../runtime/contracts/project-file.ts';
import { exitCodes, Failure } from '../failure.ts';
import { readInputFile, runtimeOf } from '../input-file.ts';
import type { Settings } from './compare.ts';

/** One object of a project file, with its settings in the form in which they are compared. */
export interface FileObject {
  kind: ProjectFileKind;
  name: string;
  settings: Settings;
  /** The names of the secrets that it needs. */
  secrets: readonly string[];
  /** The code of a function; its settings have the digest. */
  code?: string;
}

/** The name of an object among all kinds. */
export function keyOf({ kind, name }: Pick<FileObject, 'kind' | 'name'>): string {
  return `${kind}/${name}`;
}

/** The digest of a function's code, as the API shows it. */
function codeDigest(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}

/**
 * The objects of one environment of a project file, in the order in which they are applied, with the code of functions.
 * @param path of the project file
 * @throws Failure for a source file that cannot be read, or that is outside the project file's folder
 */
export function loadObjects(objects: ProjectFileObjects, path: string): FileObject[] {
  return projectFileKinds.flatMap((kind) =>
    Object.entries(objects[kind] ?? {}).map(([name, settings]) => loadObject(kind, name, settings, path)),
  );
}

function loadObject(kind: ProjectFileKind, name: string, settings: Settings, path: string): FileObject {
  const { secrets = [], build: _, dockerfile: __, codeFile, bindings, security, ...rest } = settings;
  const source = typeof codeFile === 'string' ? readCode(path, name, codeFile) : undefined;
  return {
    kind,
    name,
    secrets: secrets as string[],
    settings: {
      ...rest,
      ...(source && { runtime: rest['runtime'] ?? source.runtime, code: codeDigest(source.code) }),
      ...(security !== undefined && { security: { headers: true, csp: null, ...(security as object) } }),
      ...(bindings !== undefined && { bindings: bindingsByService(bindings as readonly Binding[]) }),
    },
    ...(source && { code: source.code }),
  };
}

interface Binding {
  service: string;
  prefix?: string | undefined;
  database?: string | undefined;
}

function bindingsByService(bindings: readonly Binding[]): Record<string, Omit<Binding, 'service'>> {
  return Object.fromEntries(bindings.map(({ service, ...settings }) => [service, settings]));
}

/** A project file that came from elsewhere must not make the command send other files of this machine, also not by a link. */
function readCode(path: string, name: string, codeFile: string): { code: string; runtime: string } {
  const file = resolve(dirname(path), codeFile);
  const code = readInputFile(file).toString('utf8');
  const below = relative(realpathSync(dirname(path)), realpathSync(file));
  if (below.startsWith('..') || isAbsolute(below)) {
    throw new Failure(`${path}: functions.${name}.codeFile is outside the folder of the file: ${codeFile}`, {
      code: 'invalid_file',
      exitCode: exitCodes.usage,
    });
  }
  return { code, runtime: runtimeOf(file) };
}
