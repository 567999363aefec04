import { duration } from '../duration.ts';
import { isJson, valueAt, type Json, textIn } from '../json.ts';
import type { ApiObject, Column } from '../resource.ts';
import { objects } from './pod-defaults.ts';

/** What `kubectl get pods` says of a pod, as kubernetes/pkg/printers/internalversion/printers.go words it. */
interface Summary {
  ready: number;
  total: number;
  status: string;
  restarts: number;
  /** When a container ended last, in milliseconds; 0 for never. */
  lastEnd: number;
}

const section = (value: unknown): Json => (isJson(value) ? value : {});
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function exitReason(terminated: Json): string {
  if (terminated['reason']) return text(terminated['reason']);
  return terminated['signal'] ? `Signal:${textIn(terminated['signal'])}` : `ExitCode:${textIn(terminated['exitCode'])}`;
}

function lastEnd(statuses: readonly Json[]): number {
  return Math.max(
    0,
    ...statuses.map((status) => Date.parse(text(valueAt(status, 'lastState.terminated.finishedAt'))) || 0),
  );
}

const restartsOf = (statuses: readonly Json[]) =>
  statuses.reduce((sum, { restartCount }) => sum + Number(restartCount ?? 0), 0);

/** What holds the pod before its containers start, if anything does; sidecars that run hold nothing. */
function initialising(statuses: readonly Json[], total: number, sidecars: ReadonlySet<unknown>): string | undefined {
  for (const [index, status] of statuses.entries()) {
    const { waiting, terminated } = section(status['state']);
    if (isJson(terminated) && terminated['exitCode'] === 0) continue;
    if (sidecars.has(status['name']) && status['started'] === true) continue;
    if (isJson(terminated)) return `Init:${exitReason(terminated)}`;
    const reason = text(section(waiting)['reason']);
    return reason && reason !== 'PodInitializing' ? `Init:${reason}` : `Init:${index}/${total}`;
  }
  return undefined;
}

function summary(pod: ApiObject): Summary {
  const init = objects(valueAt(pod, 'spec.initContainers'));
  const sidecars = new Set(init.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name));
  const initStatuses = objects(valueAt(pod, 'status.initContainerStatuses'));
  const statuses = objects(valueAt(pod, 'status.containerStatuses'));
  const sidecarStatuses = initStatuses.filter(({ name }) => sidecars.has(name));
  const total = objects(valueAt(pod, 'spec.containers')).length + sidecars.size;
  const phase = text(valueAt(pod, 'status.phase'));
  let status = text(valueAt(pod, 'status.reason')) || phase;
  let ready = sidecarStatuses.filter((sidecar) => sidecar['started'] === true && sidecar['ready'] === true).length;
  const held = initialising(initStatuses, init.length, sidecars);
  let counted = initStatuses;
  if (held) status = held;
  else {
    counted = [...sidecarStatuses, ...statuses];
    let running = false;
    for (const container of statuses.toReversed()) {
      const { waiting, terminated, running: runs } = section(container['state']);
      if (section(waiting)['reason']) status = text(section(waiting)['reason']);
      else if (isJson(terminated)) status = exitReason(terminated);
      else if (container['ready'] === true && runs) {
        running = true;
        ready += 1;
      }
    }
    if (status === 'Completed' && running) status = hasReadyCondition(pod) ? 'Running' : 'NotReady';
  }
  const ended = phase === 'Succeeded' || phase === 'Failed';
  if (pod.metadata.deletionTimestamp !== undefined && !ended) status = 'Terminating';
  return { ready, total, status, restarts: restartsOf(counted), lastEnd: lastEnd(counted) };
}

function hasReadyCondition(pod: ApiObject): boolean {
  return objects(valueAt(pod, 'status.conditions')).some(({ type, status }) => type === 'Ready' && status === 'True');
}

function restartText(pod: ApiObject): string {
  const { restarts, lastEnd: end } = summary(pod);
  return restarts > 0 && end > 0 ? `${restarts} (${duration((Date.now() - end) / 1000)} ago)` : String(restarts);
}

const column = (name: string, value: Column['value'], priority = 0): Column => ({
  name,
  type: 'string',
  value,
  priority,
});

/** Ready, status and restarts; then those of `-o wide`. */
export const podCells: readonly Column[] = [
  column('Ready', (pod) => `${summary(pod).ready}/${summary(pod).total}`),
  column('Status', (pod) => summary(pod).status),
  column('Restarts', restartText),
  column('IP', (pod) => valueAt(pod, 'status.podIP') ?? '<none>', 1),
  column('Node', (pod) => valueAt(pod, 'spec.nodeName') ?? '<none>', 1),
  column('Nominated Node', () => '<none>', 1),
  column('Readiness Gates', () => '<none>', 1),
];
