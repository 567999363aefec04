import { isMap, LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';
import {
  projectFileHead,
  projectFileKinds,
  projectFileObjects,
  type ProjectFileHead,
  type ProjectFileKind,
  type ProjectFileObjects,
} from '../../runtime/contracts/project-file.ts';
import { rule } from '../../runtime/contracts/issue-text.ts';
import { exitCodes, Failure } from '../failure.ts';
import { readInputFile } from '../input-file.ts';
import { suggestion } from '../suggest.ts';
import { isRecord } from './compare.ts';

/** One environment of a project file, with its own settings merged into those of the file. */
export interface FileEnvironment {
  limits: NonNullable<ProjectFileHead['environments'][string]['limits']> | undefined;
  objects: ProjectFileObjects;
}

export interface ProjectFile {
  /** The path, for messages. */
  path: string;
  project: string;
  name: string;
  /** By name, in the order of the file; empty when the file names none. */
  environments: ReadonlyMap<string, FileEnvironment>;
  /** The objects without the settings of any environment. */
  objects: ProjectFileObjects;
}

/** Most faults that are reported at once. */
const faultsMax = 20;

type Path = readonly PropertyKey[];
type Json = Record<string, unknown>;

/** A fault of the file: where it is, and what is wrong. */
interface Fault {
  path: Path;
  message: string;
}

/**
 * Reads `svc.yaml` (docs/reference/project-file.md).
 * @throws Failure `invalid_file` (exit code 2) that names line and column of every fault
 */
export function readProjectFile(path: string): ProjectFile {
  return parseProjectFile(readInputFile(path).toString('utf8'), path);
}

/** As {@link readProjectFile}, for the file's text. @param path for messages */
export function parseProjectFile(text: string, path: string): ProjectFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${path}:${line}:${col}`;
  };
  const syntax = document.errors.map(({ pos, message }) => `${at(pos[0])}: ${message}`);
  if (syntax.length > 0) throw invalid(syntax);
  if (!isMap(document.contents)) {
    throw invalid([`${path}:1:1: the file must be a map, such as "project: shop" with "apps:" below it`]);
  }
  const whole = document.toJS({ maxAliasCount: 100 }) as Json;

  const faults: Fault[] = [];
  const kinds = new Set<string>(projectFileKinds);
  const head = projectFileHead.safeParse(whole);
  if (!head.success) faults.push(...faultsOf(head.error, []));
  for (const key of Object.keys(whole)) {
    if (!kinds.has(key) && !Object.hasOwn(projectFileHead.shape, key)) {
      faults.push(unknownKey([key], [...kinds, ...Object.keys(projectFileHead.shape)]));
    }
  }
  const base = Object.fromEntries(Object.entries(whole).filter(([key]) => kinds.has(key)));
  const objects = readObjects(base, [], faults);
  const environments = new Map<string, FileEnvironment>();
  for (const [name, settings] of Object.entries(head.success ? head.data.environments : {})) {
    const overrides = Object.fromEntries(projectFileKinds.map((kind) => [kind, settings[kind]]));
    const merged = projectFileKinds.some((kind) => settings[kind] !== undefined)
      ? readObjects(mergePatch(base, overrides) as Json, ['environments', name], faults)
      : objects;
    environments.set(name, { limits: settings.limits, objects: merged });
  }
  if (faults.length > 0 || !head.success) {
    const texts = faults.map((fault) => ({ offset: offsetOf(document, fault.path), fault }));
    texts.sort((a, b) => a.offset - b.offset);
    throw invalid([...new Set(texts.map(({ offset, fault }) => `${at(offset)}: ${fault.message}`))]);
  }
  return { path, project: head.data.project, name: head.data.name, environments, objects };
}

function invalid(faults: readonly string[]): Failure {
  const more = faults.length > faultsMax ? [`and ${faults.length - faultsMax} more`] : [];
  return new Failure([...faults.slice(0, faultsMax), ...more].join('\n'), {
    code: 'invalid_file',
    exitCode: exitCodes.usage,
  });
}

/** The objects of an environment. Faults are added to the list, at `prefix` where the environment's own settings are. */
function readObjects(value: Json, prefix: Path, faults: Fault[]): ProjectFileObjects {
  const objects = projectFileObjects.safeParse(value);
  if (objects.success) return objects.data;
  // A fault of the common part is a fault of every environment, too.
  const common = new Set(faults.map(({ message }) => message));
  faults.push(...faultsOf(objects.error, prefix).filter(({ message }) => !common.has(message)));
  return {};
}

function faultsOf(error: z.ZodError, prefix: Path): Fault[] {
  return error.issues.flatMap(nearest).flatMap((issue) => {
    const path = [...prefix, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        ...unknownKey([...issue.path, key], fieldsAt(issue.path)),
        path: [...path, key],
      }));
    }
    const [first] = issue.code === 'invalid_key' ? issue.issues : [];
    return [{ path, message: first ? first.message : `${issue.path.map(String).join('.')} ${rule(issue)}` }];
  });
}

/** For a value that may have several forms: the faults in the form that has its type. */
function nearest(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const form = issue.errors.find((issues) =>
    issues.every(({ code, path }) => code !== 'invalid_type' || path.length > 0),
  );
  return form ? form.map((one) => ({ ...one, path: [...issue.path, ...one.path] })) : [issue];
}

function unknownKey(path: Path, fields: readonly string[]): Fault {
  const close = suggestion(String(path.at(-1)), fields);
  const hint = close === undefined ? '' : `; did you mean "${close}"?`;
  return { path, message: `${path.map(String).join('.')} is not a setting${hint}` };
}

/** The fields of an object of the file, for suggestions. */
function fieldsAt(path: Path): string[] {
  const section = projectFileObjects.shape[path[0] as ProjectFileKind];
  const objects = section?.unwrap();
  return objects && path.length === 2 ? Object.keys(objects.valueType.shape) : [];
}

/**
 * The offset of the key at a path, or of the deepest node above it. A setting of an environment that stands in the file's
 * common part is found there.
 */
function offsetOf(document: Document, path: Path): number {
  const own = keyOffset(document, path);
  const isShared = path[0] === 'environments' && own.depth < path.length;
  const shared = isShared ? keyOffset(document, path.slice(2)) : own;
  return shared.depth >= own.depth - (isShared ? 2 : 0) ? shared.offset : own.offset;
}

function keyOffset(document: Document, path: Path): { offset: number; depth: number } {
  let node: unknown = document.contents;
  let offset = 0;
  for (const [depth, key] of path.entries()) {
    const next = childOf(node, key);
    if (!next) return { offset, depth };
    ({ offset, node } = next);
  }
  return { offset, depth: path.length };
}

function childOf(node: unknown, key: PropertyKey): { offset: number; node: unknown } | undefined {
  if (isMap(node)) {
    const pair = node.items.find((item) => String(item.key) === String(key));
    const range = (pair?.key as { range?: [number, number, number] } | undefined)?.range;
    return pair && range ? { offset: range[0], node: pair.value } : undefined;
  }
  const items = (node as { items?: { range?: [number, number, number] }[] } | undefined)?.items;
  const item = typeof key === 'number' ? items?.[key] : undefined;
  return item?.range ? { offset: item.range[0], node: item } : undefined;
}

/** A JSON merge patch (RFC 7396): null removes a member, objects are merged, and everything else is replaced. */
function mergePatch(value: unknown, patch: unknown): unknown {
  if (patch === undefined) return value;
  if (!isRecord(patch)) return patch;
  const result = new Map(Object.entries(isRecord(value) ? value : {}));
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) result.delete(key);
    else if (change !== undefined) result.set(key, mergePatch(result.get(key), change));
  }
  return Object.fromEntries(result);
}
