import { logLevels, severityOf, type LogLevel } from '../domain/log-level.ts';
import { isLabel, isLogTime, logKinds, type LogKind, type StoredLine } from './record.ts';

/** Selects lines by what they say. */
export interface LineFilter {
  /** A text that the line contains. */
  search?: string | undefined;
  /** The line has at least this level; a line without a level never matches. */
  level?: LogLevel | undefined;
}

/** What to read of one workload's lines. */
export interface LogQuery extends LineFilter {
  namespace: string;
  kind: LogKind;
  name: string;
  /** The first time, inclusive, as in a record. */
  from: string;
  /** The last time, exclusive. */
  to: string;
  container?: string | undefined;
  /** A pod's name; with `*` at its end, the beginning of several. */
  pod?: string | undefined;
  /** Maximum lines; default all. */
  limit?: number | undefined;
  /** `backward` returns the newest lines first. */
  direction: 'forward' | 'backward';
  /** Continues after this line, in the direction of the query. */
  after?: { time: string; id: number } | undefined;
  /** Who reads: readers, such as users, get places in turn; default the namespace. */
  reader?: string | undefined;
}

/** Maximum length of a search, in characters. */
const searchMaxLength = 200;

/** A query that the store cannot answer. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
}

/** A test for one line. */
export function lineFilter({ search, level }: LineFilter): (line: string) => boolean {
  const least = level === undefined ? undefined : logLevels.indexOf(level);
  return (line) => {
    if (search !== undefined && !line.includes(search)) return false;
    return least === undefined || (severityOf(line) ?? -1) >= least;
  };
}

/** Whether a pod is selected by {@link LogQuery.pod}. */
export function matchesPod(pod: string, selection: string | undefined): boolean {
  if (selection === undefined) return true;
  return selection.endsWith('*') ? pod.startsWith(selection.slice(0, -1)) : pod === selection;
}

/** A cursor as text, for {@link parseCursor}. */
export function cursorOf({ time, id }: Pick<StoredLine, 'time' | 'id'>): string {
  return `${time}_${id}`;
}

/** The query as parameters of `GET /read`. */
export function queryParameters(query: LogQuery): URLSearchParams {
  const { after, limit, ...rest } = query;
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(rest)) if (value !== undefined) parameters.set(key, value);
  if (limit !== undefined) parameters.set('limit', String(limit));
  if (after) parameters.set('cursor', cursorOf(after));
  return parameters;
}

const podShape = /^[a-z0-9][a-z0-9.-]{0,252}\*?$/;

/** Reads the parameters of `GET /read`. @throws QueryError */
export function parseQuery(parameters: URLSearchParams): LogQuery {
  const text = (key: string) => parameters.get(key) ?? undefined;
  const label = (key: string) => {
    const value = text(key);
    if (!isLabel(value)) throw new QueryError(`${key} must be a name`);
    return value;
  };
  const time = (key: string) => {
    const value = text(key);
    if (!isLogTime(value)) throw new QueryError(`${key} must be a time with nine decimals`);
    return value;
  };
  const choice = <T extends string>(key: string, choices: readonly T[], fallback?: T): T | undefined => {
    const value = text(key);
    if (value === undefined) return fallback;
    const match = choices.find((candidate) => candidate === value);
    if (match === undefined) throw new QueryError(`${key} must be one of ${choices.join(', ')}`);
    return match;
  };
  const kind = choice('kind', logKinds);
  if (kind === undefined) throw new QueryError('kind is required');
  const [search, pod, container] = [text('search'), text('pod'), text('container')];
  if (search !== undefined && search.length > searchMaxLength) {
    throw new QueryError(`search may have ${searchMaxLength} characters`);
  }
  if (pod !== undefined && !podShape.test(pod)) throw new QueryError('pod must be a name');
  if (container !== undefined && !isLabel(container)) throw new QueryError('container must be a name');
  const reader = text('reader');
  if (reader !== undefined && !isLabel(reader)) throw new QueryError('reader must be a name');
  return {
    namespace: label('namespace'),
    kind,
    name: label('name'),
    from: time('from'),
    to: time('to'),
    ...(container !== undefined && { container }),
    ...(pod !== undefined && { pod }),
    ...(search !== undefined && search !== '' && { search }),
    level: choice('level', logLevels),
    limit: parseLimit(text('limit')),
    direction: choice('direction', ['forward', 'backward'], 'forward') ?? 'forward',
    after: parseCursor(text('cursor')),
    ...(reader !== undefined && { reader }),
  };
}

function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new QueryError('limit must be a number from 1 to 9999999');
  return Number(text);
}

/** @throws QueryError */
export function parseCursor(text: string | undefined): LogQuery['after'] {
  if (text === undefined) return undefined;
  const [time, id = ''] = text.length > 60 ? [] : text.split('_');
  if (!isLogTime(time) || !/^\d{1,16}$/.test(id)) throw new QueryError('cursor is not one that a read returned');
  return { time, id: Number(id) };
}
