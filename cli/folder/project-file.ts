import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, LineCounter, parseDocument, type Document } from 'yaml';
import { z } from 'zod';
import { functionRuntimes } from '../../runtime/contracts/resources/function.ts';
import { Failure } from '../failure.ts';

/** The file that says what a folder is on the platform. */
export const projectFileName = 'svc.yaml';

/** An app that is built from a folder. */
const folderApp = z.looseObject({
  /** The folder to upload, relative to the file. */
  build: z.string(),
  port: z.int().min(1).max(65_535).optional(),
  dockerfile: z.string().optional(),
});

/** A function of one source file. */
const folderFunction = z.looseObject({
  /** The file, relative to svc.yaml. */
  code: z.string(),
  runtime: z.enum(functionRuntimes).optional(),
  /** Packages, each as `name@version`. */
  dependencies: z.array(z.string()).optional(),
});

/** What `svc deploy` reads; it leaves the rest of the file alone. */
const projectFile = z.looseObject({
  version: z.literal(1).optional(),
  project: z.string().optional(),
  environment: z.string().optional(),
  // An app or function with another source is none of `svc deploy`.
  apps: z.record(z.string(), z.union([folderApp, z.looseObject({ build: z.undefined().optional() })])).optional(),
  functions: z
    .record(z.string(), z.union([folderFunction, z.looseObject({ code: z.undefined().optional() })]))
    .optional(),
});

export type FolderApp = z.infer<typeof folderApp>;
export type FolderFunction = z.infer<typeof folderFunction>;

/** The `svc.yaml` of a folder. */
export interface ProjectFile {
  project: string | undefined;
  environment: string | undefined;
  apps: Map<string, FolderApp>;
  functions: Map<string, FolderFunction>;
  /** Adds what is missing, and keeps everything else, comments included. @returns whether anything was missing */
  save(changes: Deployed): boolean;
}

/** What was deployed, and how. */
type Deployed = { project: string; environment: string | undefined; name: string } & (
  { section: 'apps'; settings: FolderApp } | { section: 'functions'; settings: FolderFunction }
);

/** Reads the file of a folder, which may be missing. @throws Failure `invalid_file` with the line */
export function readProjectFile(folder: string): ProjectFile {
  const file = join(folder, projectFileName);
  const document = existsSync(file) ? parse(readFileSync(file, 'utf8')) : undefined;
  const content = document ? check(document) : {};
  const withField = <T>(entries: Record<string, unknown> | undefined, field: string) =>
    new Map(
      Object.entries(entries ?? {}).filter(
        (entry): entry is [string, T] => (entry[1] as Record<string, unknown>)[field] !== undefined,
      ),
    );
  return {
    project: content.project,
    environment: content.environment,
    apps: withField<FolderApp>(content.apps, 'build'),
    functions: withField<FolderFunction>(content.functions, 'code'),
    save({ project, environment, section, name, settings }) {
      const target: Document = document ?? parse('version: 1\n');
      let changed = document === undefined;
      const add = (path: readonly string[], value: unknown) => {
        if (value === undefined || target.hasIn(path)) return;
        target.setIn(path, value);
        changed = true;
      };
      add(['project'], project);
      add(['environment'], environment);
      for (const [field, value] of Object.entries(settings)) add([section, name, field], value);
      if (changed) writeFileSync(file, target.toString());
      return changed;
    },
  };
}

function parse(text: string): Document {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [error] = document.errors;
  if (error) throw invalid(error.message.split('\n', 1)[0] ?? '');
  if (document.contents !== null && !isMap(document.contents))
    throw invalid('it must be a mapping, such as "project: shop"');
  return document;
}

function check(document: Document): z.infer<typeof projectFile> {
  const parsed = projectFile.safeParse(document.toJS() ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
}

function invalid(reason: string): Failure {
  return new Failure(`${projectFileName} is not valid: ${reason}`, { code: 'invalid_file' });
}
