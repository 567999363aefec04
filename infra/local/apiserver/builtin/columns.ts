import { isJson, objects, textIn, valueAt, type Json } from '../json.ts';
import type { ApiObject, Column } from '../resource.ts';
import { duration } from '../table.ts';

type Cell = (object: ApiObject) => unknown;

const column = (name: string, cell: string | Cell, options: Partial<Column> & { none?: unknown } = {}): Column => {
  const { none = '', ...rest } = options;
  const value: Cell = typeof cell === 'string' ? (object) => valueAt(object, cell) ?? none : cell;
  return { name, type: 'string', value, ...rest };
};
const count = (name: string, path: string) => column(name, path, { type: 'integer', none: 0 });
/** The first column of every kind. */
export const nameColumn = column('Name', 'metadata.name', { format: 'name' });
/** The time since an object was created. */
export const age = column('Age', 'metadata.creationTimestamp', { age: true });

const size = (value: unknown) => Object.keys(value ?? {}).length;
const list = (values: readonly unknown[], none = '<none>') => values.join(',') || none;

const readyOf: Cell = ({ spec, status }) =>
  `${textIn(valueAt(status, 'readyReplicas') ?? 0)}/${textIn(valueAt(spec, 'replicas'))}`;

function stateText(container: Json): string {
  const { waiting, terminated } = isJson(container['state']) ? container['state'] : {};
  const { reason } = { ...(waiting as Json), ...(terminated as Json) };
  if (reason) return textIn(reason);
  return isJson(terminated) ? `ExitCode:${textIn(terminated['exitCode'])}` : '';
}

/** The containers that count for a pod's columns: sidecars and main containers, and what init containers wait for. */
function containersIn(pod: ApiObject): { statuses: Json[]; total: number; initStatus: string | undefined } {
  const init = objects(valueAt(pod, 'status.initContainerStatuses'));
  const main = objects(valueAt(pod, 'status.containerStatuses'));
  const sidecars = objects(valueAt(pod, 'spec.initContainers')).filter(({ restartPolicy }) => restartPolicy);
  const isSidecar = ({ name }: Json) => sidecars.some((sidecar) => sidecar['name'] === name);
  const waiting = init.findIndex(
    (container) =>
      valueAt(container, 'state.terminated.exitCode') !== 0 && !(isSidecar(container) && container['started'] === true),
  );
  const state = stateText(init[waiting] ?? {}).replace('PodInitializing', '');
  const initStatus = waiting < 0 ? undefined : `Init:${state || `${waiting}/${init.length}`}`;
  const total = objects(valueAt(pod, 'spec.containers')).length + sidecars.length;
  return { statuses: [...init.filter(isSidecar), ...main], total, initStatus };
}

/** The status in `kubectl get pods`, as in kubernetes/pkg/printers/internalversion/printers.go. */
function podStatus(pod: ApiObject): string {
  const phase = textIn(valueAt(pod, 'status.phase'));
  const ended = phase === 'Succeeded' || phase === 'Failed';
  if (pod.metadata.deletionTimestamp !== undefined && !ended) return 'Terminating';
  const { statuses, initStatus } = containersIn(pod);
  const states = statuses.filter((container) => container['ready'] !== true).map(stateText);
  return initStatus ?? (states.find(Boolean) || textIn(valueAt(pod, 'status.reason')) || phase);
}

function jobStatus(job: ApiObject): string {
  const conditions = objects(valueAt(job, 'status.conditions')).filter(({ status }) => status === 'True');
  const type = ['Complete', 'Failed', 'Suspended'].find((name) =>
    conditions.some((condition) => condition['type'] === name),
  );
  return type ?? (job.metadata.deletionTimestamp === undefined ? 'Running' : 'Terminating');
}

function jobDuration({ status }: ApiObject): string {
  const start = Date.parse(textIn(valueAt(status, 'startTime')));
  const end = Date.parse(textIn(valueAt(status, 'completionTime'))) || Date.now();
  return Number.isNaN(start) ? '' : duration((end - start) / 1000);
}

const servicePort = ({ port, protocol }: Json) => `${textIn(port)}/${textIn(protocol)}`;

/**
 * Columns by kind. Order, names, types and values are those of kubernetes/pkg/printers/internalversion, without the
 * columns of `-o wide`.
 */
const tables: Readonly<Record<string, readonly Column[]>> = {
  Namespace: [nameColumn, column('Status', 'status.phase'), age],
  Pod: [
    nameColumn,
    column('Ready', (pod) => {
      const { statuses, total } = containersIn(pod);
      return `${statuses.filter(({ ready }) => ready === true).length}/${total}`;
    }),
    column('Status', podStatus),
    column('Restarts', (pod) =>
      containersIn(pod).statuses.reduce((sum, { restartCount }) => sum + Number(restartCount ?? 0), 0),
    ),
    age,
  ],
  Service: [
    nameColumn,
    column('Type', 'spec.type'),
    column('Cluster-IP', 'spec.clusterIP', { none: '<none>' }),
    column('External-IP', 'spec.externalName', { none: '<none>' }),
    column('Port(s)', (service) => list(objects(valueAt(service, 'spec.ports')).map(servicePort))),
    age,
  ],
  Secret: [nameColumn, column('Type', 'type'), column('Data', ({ data }) => size(data)), age],
  ConfigMap: [nameColumn, column('Data', ({ data, binaryData }) => size(data) + size(binaryData)), age],
  Event: [
    column('Last Seen', (event) => event['lastTimestamp'] ?? event['eventTime'], { age: true }),
    column('Type', 'type'),
    column('Reason', 'reason'),
    column('Object', ({ involvedObject }) =>
      [textIn(valueAt(involvedObject, 'kind')).toLowerCase(), valueAt(involvedObject, 'name')].join('/'),
    ),
    column('Message', (event) => textIn(event['message']).trim()),
  ],
  PersistentVolumeClaim: [
    nameColumn,
    column('Status', (claim) => (claim.metadata.deletionTimestamp ? 'Terminating' : valueAt(claim, 'status.phase'))),
    column('Volume', 'spec.volumeName'),
    column('Capacity', 'status.capacity.storage'),
    column('Access Modes', (claim) => textIn(valueAt(claim, 'spec.accessModes.0')).replaceAll(/[a-z]/g, '')),
    column('StorageClass', 'spec.storageClassName'),
    age,
  ],
  Deployment: [
    nameColumn,
    column('Ready', readyOf),
    column('Up-to-date', 'status.updatedReplicas', { none: 0 }),
    column('Available', 'status.availableReplicas', { none: 0 }),
    age,
  ],
  ReplicaSet: [
    nameColumn,
    count('Desired', 'spec.replicas'),
    count('Current', 'status.replicas'),
    count('Ready', 'status.readyReplicas'),
    age,
  ],
  StatefulSet: [nameColumn, column('Ready', readyOf), age],
  Job: [
    nameColumn,
    column('Status', jobStatus),
    column('Completions', ({ spec, status }) =>
      [valueAt(status, 'succeeded') ?? 0, valueAt(spec, 'completions') ?? 1].map(textIn).join('/'),
    ),
    column('Duration', jobDuration),
    age,
  ],
  CronJob: [
    nameColumn,
    column('Schedule', 'spec.schedule'),
    column('Timezone', 'spec.timeZone', { none: '<none>' }),
    column('Suspend', (job) => (valueAt(job, 'spec.suspend') === true ? 'True' : 'False'), { type: 'boolean' }),
    column('Active', (job) => objects(valueAt(job, 'status.active')).length, { type: 'integer' }),
    column('Last Schedule', 'status.lastScheduleTime', { none: '<none>', age: true }),
    age,
  ],
};

/** The columns of `kubectl get` for a built-in kind; by default name and age. */
export function columnsOf(kind: string): readonly Column[] {
  return tables[kind] ?? [nameColumn, age];
}
