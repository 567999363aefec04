import type { ChangeRequest } from '../api/change.ts';
import type { Prepared } from './exchange.ts';
import { readCode, readNewFunction, type FormOperation } from './prepared-form.ts';

type WorkloadKind = 'app' | 'function' | 'job';

/** What a prepared request does that the panel sends. */
export type SentOperation =
  | { kind: 'deploy'; app: string; image: string; commit?: string }
  | { kind: 'scale'; app: string; replicas: number }
  | { kind: 'rollback'; app: string; revision?: number; withConfig: boolean }
  | { kind: 'restart'; of: 'app' | 'function'; name: string }
  | { kind: 'cancel'; deployment: string }
  | { kind: 'run'; job: string }
  | { kind: 'variables'; of: WorkloadKind; name: string; variables: Readonly<Record<string, string>> }
  | { kind: 'redrive'; name: string; ids?: readonly string[] };

/** What a prepared request does. */
export type Operation = SentOperation | FormOperation;

/** Whether a form sends it. */
export function isForm(operation: Operation): operation is FormOperation {
  return operation.kind === 'create' || operation.kind === 'code';
}

/** A prepared request that the console can show completely. */
export interface ReadyRequest {
  /** Undefined: the only environment of the project. */
  environment: string | undefined;
  operation: Operation;
}

/**
 * Reads a prepared request. Only what the panel shows is sent: the request is written again from the operation, so a
 * path or a field that is not known here is never sent. Pure.
 * @param project the only one that it may be about @returns undefined for a request that the console does not know
 */
export function readPrepared(
  { method, path, body = {} }: Pick<Prepared, 'method' | 'path' | 'body'>,
  project: string,
): ReadyRequest | undefined {
  const [pathname = '', query = ''] = path.split('?');
  const { environment, ...others } = Object.fromEntries(new URLSearchParams(query));
  const parts = partsOf(pathname);
  if (Object.keys(others).length > 0 || parts?.[0] !== project) return undefined;
  if (hasUnseen(parts) || hasUnseen(body)) return undefined;
  const operation = operationOf(method, parts.slice(1), body);
  return operation && { environment, operation };
}

/** Whether a text has a character that the panel cannot show, at any depth. */
function hasUnseen(value: unknown): boolean {
  if (typeof value === 'string') return /[^\P{Cc}\t\n]|[\p{Cf}\p{Zl}\p{Zp}]/u.test(value);
  return typeof value === 'object' && value !== null && Object.entries(value).flat().some(hasUnseen);
}

const prefix = '/api/v1/projects/';

function partsOf(pathname: string): string[] | undefined {
  if (!pathname.startsWith(prefix)) return undefined;
  try {
    const parts = pathname.slice(prefix.length).split('/').map(decodeURIComponent);
    // A browser would leave the folder instead.
    return parts.some((part) => part === '.' || part === '..') ? undefined : parts;
  } catch {
    return undefined;
  }
}

function operationOf(method: string, parts: readonly string[], body: Readonly<Record<string, unknown>>) {
  const [list = '', name = '', ...below] = parts;
  if (method === 'POST' && list === 'functions' && parts.length === 1) return readNewFunction(body);
  if (name === '') return undefined;
  const route = `${method} ${list} ${below.join('/')}`.trim();
  const read = Object.hasOwn(readers, route) ? readers[route] : undefined;
  return read?.(name, body);
}

type Body = Readonly<Record<string, unknown>>;

/** Whether a body has only these fields. */
const hasOnly = (body: Body, ...names: readonly string[]) => Object.keys(body).every((name) => names.includes(name));
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function variablesOf(of: WorkloadKind) {
  return (name: string, body: Body): Operation | undefined => {
    const entries = Object.entries(body);
    if (entries.length === 0 || entries.some(([, value]) => typeof value !== 'string')) return undefined;
    return { kind: 'variables', of, name, variables: Object.fromEntries(entries) as Record<string, string> };
  };
}

const restart =
  (of: 'app' | 'function') =>
  (name: string, body: Body): Operation | undefined =>
    hasOnly(body) ? { kind: 'restart', of, name } : undefined;

/** The requests that the assistant prepares, by method, list and what is below the object. */
const readers: Readonly<Record<string, (name: string, body: Body) => Operation | undefined>> = {
  'PATCH apps': (app, body) => {
    const { image, commit, replicas } = body;
    if (isCount(replicas) && hasOnly(body, 'replicas')) return { kind: 'scale', app, replicas };
    if (typeof image !== 'string' || !hasOnly(body, 'image', 'commit')) return undefined;
    if (commit !== undefined && typeof commit !== 'string') return undefined;
    return { kind: 'deploy', app, image, ...(commit !== undefined && { commit }) };
  },
  'PATCH functions': readCode,
  'POST apps rollback': (app, body) => {
    const { revision, withConfig = false } = body;
    if (!hasOnly(body, 'revision', 'withConfig') || typeof withConfig !== 'boolean') return undefined;
    if (revision === undefined) return { kind: 'rollback', app, withConfig };
    return isCount(revision) ? { kind: 'rollback', app, revision, withConfig } : undefined;
  },
  'POST apps restart': restart('app'),
  'POST functions restart': restart('function'),
  'POST deployments cancel': (deployment, body) => (hasOnly(body) ? { kind: 'cancel', deployment } : undefined),
  'POST jobs runs': (job, body) => (hasOnly(body) ? { kind: 'run', job } : undefined),
  'PATCH apps env': variablesOf('app'),
  'PATCH functions env': variablesOf('function'),
  'PATCH jobs env': variablesOf('job'),
  'POST functions dead-letters/redrive': (name, body) => {
    const { ids, all } = body;
    if (all === true && hasOnly(body, 'all')) return { kind: 'redrive', name };
    if (!Array.isArray(ids) || !hasOnly(body, 'ids')) return undefined;
    const texts = ids.filter((id): id is string => typeof id === 'string');
    return texts.length === ids.length && texts.length > 0 ? { kind: 'redrive', name, ids: texts } : undefined;
  },
};

/** The request through the same route as a form. */
export function requestOf({
  environment,
  operation,
}: {
  environment: string | undefined;
  operation: SentOperation;
}): ChangeRequest {
  return { ...routeOf(operation), ...(environment !== undefined && { query: { environment } }) };
}

function routeOf(operation: SentOperation): ChangeRequest {
  switch (operation.kind) {
    case 'deploy': {
      const { app, image, commit } = operation;
      return { method: 'PATCH', path: ['apps', app], body: { image, ...(commit !== undefined && { commit }) } };
    }
    case 'scale':
      return { method: 'PATCH', path: ['apps', operation.app], body: { replicas: operation.replicas } };
    case 'rollback': {
      const { app, revision, withConfig } = operation;
      const body = { ...(revision !== undefined && { revision }), withConfig };
      return { method: 'POST', path: ['apps', app, 'rollback'], body };
    }
    case 'restart':
      return { method: 'POST', path: [`${operation.of}s`, operation.name, 'restart'] };
    case 'cancel':
      return { method: 'POST', path: ['deployments', operation.deployment, 'cancel'] };
    case 'run':
      return { method: 'POST', path: ['jobs', operation.job, 'runs'] };
    case 'variables':
      return { method: 'PATCH', path: [`${operation.of}s`, operation.name, 'env'], body: operation.variables };
    case 'redrive':
    default: {
      const { name, ids } = operation;
      return {
        method: 'POST',
        path: ['functions', name, 'dead-letters', 'redrive'],
        body: ids === undefined ? { all: true } : { ids },
      };
    }
  }
}
