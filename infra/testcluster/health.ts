import { queryApiServer, queryServer } from './api-server.ts';
import type { QueryResult } from './api-server.ts';
import { components, secondNodeNames } from './components.ts';
import { isAlive } from '../process-record.ts';
import { readRecords } from './processes.ts';
import type { IngressPorts, Layout } from './settings.ts';
import { node, ports, secondNode } from './settings.ts';
import { readState } from './state.ts';

/** The health of one part of the cluster. */
export interface ComponentStatus {
  readonly name: string;
  /** `ok`: works. `failing`: runs, or should run, but does not work. `stopped`: has no process. */
  readonly state: 'ok' | 'failing' | 'stopped';
  /** For people: the process id, or the error. */
  readonly detail: string;
}

/** The health of the cluster: `up` when every part is ok, `down` when none runs, otherwise `degraded`. */
export interface ClusterStatus {
  readonly state: 'up' | 'degraded' | 'down';
  readonly components: readonly ComponentStatus[];
}

/** Summarizes the health of all parts. Pure. */
export function summarise(parts: readonly ComponentStatus[]): ClusterStatus {
  const every = (state: ComponentStatus['state']): boolean => parts.every((part) => part.state === state);
  return { state: every('ok') ? 'up' : every('stopped') ? 'down' : 'degraded', components: parts };
}

/**
 * The health of recorded processes. A process that reuses a process id does not count.
 * @param names default: those of the cluster without its second node
 */
export function processStatuses(
  layout: Layout,
  names: readonly string[] = components(layout).map(({ name }) => name),
): ComponentStatus[] {
  const records = new Map(readRecords(layout.processes).map((record) => [record.name, record]));
  return names.map((name): ComponentStatus => {
    const record = records.get(name);
    if (record === undefined) return { name, state: 'stopped', detail: 'not started' };
    if (!isAlive(record)) return { name, state: 'stopped', detail: `process ${record.pid} has exited` };
    return { name, state: 'ok', detail: `process ${record.pid}` };
  });
}

/** The health of the second node; empty when the cluster has none. */
export async function inspectSecondNode(layout: Layout): Promise<ComponentStatus[]> {
  if (readState(layout)?.nodes !== 2) return [];
  const ready = check('node 2 ready', queryApiServer(layout.pki, `/api/v1/nodes/${secondNode.name}`), isReadyNode);
  return [...processStatuses(layout, secondNodeNames), await ready];
}

const isReadyNode = ({ body }: QueryResult): boolean => hasCondition(body, 'Ready');

/** Checks every part but the second node: whether its process runs and whether it works. */
export async function inspect(layout: Layout, ingress: IngressPorts): Promise<ClusterStatus> {
  const processes = processStatuses(layout);
  const stopped = summarise(processes).state === 'down';
  return summarise([...processes, ...(await Promise.all(stopped ? [] : serviceChecks(layout, ingress)))]);
}

function serviceChecks(layout: Layout, ingress: IngressPorts): Promise<ComponentStatus>[] {
  const api = (path: string): Promise<QueryResult> => queryApiServer(layout.pki, path);
  const deployment = (namespace: string, name: string): Promise<QueryResult> =>
    api(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  return [
    check('API ready', api('/readyz'), (result) => result.body === 'ok'),
    check('registry ready', queryServer(`http://127.0.0.1:${ports.registry}/v2/`), () => true),
    check('node ready', api(`/api/v1/nodes/${node.name}`), isReadyNode),
    check('coredns', deployment('kube-system', 'coredns'), (result) => hasCondition(result.body, 'Available')),
    check('traefik', deployment('traefik', 'traefik'), (result) => hasCondition(result.body, 'Available')),
    check('traefik serving', queryServer(`http://127.0.0.1:${ingress.admin}/ping`), () => true),
  ];
}

/** Judges the answer of a part of the cluster. */
async function check(
  name: string,
  request: Promise<QueryResult>,
  isReady: (result: QueryResult) => boolean,
): Promise<ComponentStatus> {
  const result = await request;
  if (result.status === 0) return { name, state: 'failing', detail: 'no response' };
  if (result.status !== 200) return { name, state: 'failing', detail: `status ${result.status}` };
  return isReady(result) ? { name, state: 'ok', detail: 'ready' } : { name, state: 'failing', detail: 'not ready' };
}

/** Whether an object, as JSON text, has a condition of this type with status True. Pure. */
export function hasCondition(object: string, type: string): boolean {
  const parsed = JSON.parse(object) as { status?: { conditions?: { type: string; status: string }[] } };
  return (
    parsed.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
  );
}
