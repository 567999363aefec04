import type { LogSearch } from '../logs/search.ts';
import type { FindPath, PlaceName } from '../shell/places.ts';
import type { Exchange, Source } from './exchange.ts';

/** A page of the console. */
export interface Target {
  path: string;
  search?: Pick<LogSearch, 'at' | 'pod'> | { changes: number };
}

/** The pages of logs and events, by the kind of what printed them. */
const logPlaces: Readonly<Record<string, PlaceName>> = { app: 'appLogs', function: 'functionLogs', job: 'jobRuns' };

/**
 * The page of what an answer rests on; undefined where there is none, and for a deployment, whose app has to be read
 * first. Only pages of the console: names are one segment of a path each. Pure.
 * @param environments those of the project: without a name, an only environment is meant
 */
export function pathOfSource(
  find: FindPath,
  { kind, name, project, environment: named, of = '', time, pod }: Source,
  environments: readonly string[],
): Target | undefined {
  if (kind === 'project') return targetOf(find('settings', { project }));
  const environment = named ?? (environments.length === 1 ? environments[0] : undefined);
  if (environment === undefined || kind === 'deployment') return undefined;
  const place = { project, environment };
  if (kind === 'events') return targetOf(find('functionEvents', { ...place, function: name }));
  if (kind !== 'logs') return targetOf(find(kind, { ...place, [kind]: name }));
  const page = Object.hasOwn(logPlaces, of) ? logPlaces[of] : undefined;
  const target = page && targetOf(find(page, { ...place, [of]: name }));
  if (!target || time === undefined || page === 'jobRuns') return target;
  return { ...target, search: { at: time, ...(pod !== undefined && { pod }) } };
}

interface DeploymentPlace {
  project: string;
  environment?: string | undefined;
  app: string;
  revision?: number | undefined;
}

/** The page of a deployment. */
export function pathOfDeployment(
  find: FindPath,
  { project, environment, app, revision }: DeploymentPlace,
): Target | undefined {
  const target = targetOf(find('deployments', { project, environment, app }));
  return target && { ...target, ...(revision !== undefined && { search: { changes: revision } }) };
}

const targetOf = (path: string | undefined): Target | undefined => (path === undefined ? undefined : { path });

const lineTimes = /20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d{1,9})?Z/g;
const mostLines = 5;

/**
 * What an answer rests on, each once. When it rests on one log, the times that it names are lines of that log, unless the
 * API says which lines it means.
 */
export function sourcesOf({ answer, sources }: Pick<Exchange, 'answer' | 'sources'>): Source[] {
  const distinct = [...new Map(sources.map((source) => [JSON.stringify(source), source])).values()];
  const logs = distinct.filter(({ kind }) => kind === 'logs');
  const [log] = logs;
  if (!log || logs.length > 1 || log.time !== undefined || log.of === 'job') return distinct;
  const times = [...new Set([...answer.matchAll(lineTimes)].map(([time]) => time))].slice(0, mostLines);
  return [...distinct, ...times.map((time) => ({ ...log, time }))];
}
