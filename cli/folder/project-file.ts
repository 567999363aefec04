import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import type { FunctionRuntime } from '../../runtime/contracts/resources/function.ts';
import { parseProjectFile } from '../project-file/read.ts';

/** The project file of a folder (docs/reference/project-file.md). */
export const projectFileName = 'svc.yaml';

/** An app that is built from a folder. */
export interface FolderApp {
  /** The folder to upload, relative to the file. */
  build: string;
  port?: number | undefined;
  dockerfile?: string | undefined;
}

/** A function of one source file. */
export interface FolderFunction {
  /** The file, relative to the project file. */
  codeFile: string;
  runtime?: FunctionRuntime | undefined;
  dependencies?: readonly string[] | undefined;
}

/** What `svc deploy` needs of a folder's project file. */
export interface FolderProject {
  project: string | undefined;
  /** The environment, if the file has one only. */
  environment: string | undefined;
  apps: ReadonlyMap<string, FolderApp>;
  functions: ReadonlyMap<string, FolderFunction>;
  /** Adds what is missing, and keeps everything else, comments included. @returns whether anything was missing */
  save(changes: Deployed): boolean;
}

/** What was deployed, and how. */
type Deployed = { project: string; environment: string | undefined; name: string } & (
  { section: 'apps'; settings: FolderApp } | { section: 'functions'; settings: FolderFunction }
);

/** Reads the project file of a folder, which may be missing. @throws Failure `invalid_file` with line and column */
export function readFolderProject(folder: string): FolderProject {
  const file = join(folder, projectFileName);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const content = text === '' ? undefined : parseProjectFile(text, file);
  const environments = [...(content?.environments.keys() ?? [])];
  const { apps = {}, functions = {} } = content?.objects ?? {};
  return {
    project: content?.project,
    environment: environments.length === 1 ? environments[0] : undefined,
    apps: new Map(
      Object.entries(apps).flatMap(([name, { build, port, dockerfile }]) =>
        build === undefined ? [] : [[name, { build, port, dockerfile }] as const],
      ),
    ),
    functions: new Map(
      Object.entries(functions).flatMap(([name, { codeFile, runtime, dependencies }]) =>
        codeFile === undefined ? [] : [[name, { codeFile, runtime, dependencies }] as const],
      ),
    ),
    save({ project, environment, section, name, settings }) {
      const document = parseDocument(text);
      let changed = false;
      const add = (path: readonly string[], value: unknown) => {
        if (value === undefined || document.hasIn(path)) return;
        document.setIn(path, value);
        changed = true;
      };
      add(['project'], project);
      if (environment !== undefined && environments.length === 0) add(['environments', environment], {});
      for (const [field, value] of Object.entries(settings)) add([section, name, field], value);
      if (changed) writeFileSync(file, document.toString());
      return changed;
    },
  };
}
