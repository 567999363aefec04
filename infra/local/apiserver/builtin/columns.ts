import { isJson, valueAt, type Json, textIn } from '../json.ts';
import type { ApiObject, Column } from '../resource.ts';
import { duration } from '../duration.ts';
import { objects } from './pod-defaults.ts';
import { podCells } from './pod-columns.ts';

type Cell = (object: ApiObject) => unknown;

/** What is at a path, or something else where there is nothing. */
const at =
  (path: string, otherwise: unknown = ''): Cell =>
  (object) =>
    valueAt(object, path) ?? otherwise;
const column = (name: string, value: Cell, more: Partial<Column> = {}): Column => ({
  name,
  type: 'string',
  value,
  ...more,
});
const count = (name: string, path: string) => column(name, at(path, 0), { type: 'integer' });
const wide = (name: string, value: Cell) => column(name, value, { priority: 1 });
const nameColumn = column('Name', at('metadata.name'), { format: 'name' });
const age = column('Age', at('metadata.creationTimestamp'), { age: true });

const size = (value: unknown) => (isJson(value) ? Object.keys(value).length : 0);
const joined = (values: readonly unknown[], none = '<none>') => (values.length > 0 ? values.join(',') : none);

/** `a=b,c=d`, as a selector is written. */
function selectorText(selector: unknown): string {
  const labels = isJson(selector) ? selector : {};
  return joined(
    Object.keys(labels)
      .sort()
      .map((key) => `${key}=${String(labels[key])}`),
  );
}

const containers = (path: string) => [
  wide('Containers', (object) =>
    joined(
      objects(valueAt(object, path)).map(({ name }) => name),
      '',
    ),
  ),
  wide('Images', (object) =>
    joined(
      objects(valueAt(object, path)).map(({ image }) => image),
      '',
    ),
  ),
];
const templateContainers = containers('spec.template.spec.containers');
const selector = (path: string) => wide('Selector', (object) => selectorText(valueAt(object, path)));

function jobStatus(job: ApiObject): string {
  const holds = (type: string) =>
    objects(valueAt(job, 'status.conditions')).some(
      (condition) => condition['type'] === type && condition['status'] === 'True',
    );
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(holds) ?? 'Running';
}

function completions(job: ApiObject): string {
  const succeeded = textIn(valueAt(job, 'status.succeeded') ?? 0);
  const wanted = valueAt(job, 'spec.completions');
  if (wanted !== undefined) return `${succeeded}/${textIn(wanted)}`;
  const parallelism = Number(valueAt(job, 'spec.parallelism') ?? 0);
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: ApiObject): string {
  const start = valueAt(job, 'status.startTime');
  const end = valueAt(job, 'status.completionTime');
  if (typeof start !== 'string') return '';
  return duration(((typeof end === 'string' ? Date.parse(end) : Date.now()) - Date.parse(start)) / 1000);
}

const servicePort = ({ port, protocol, nodePort }: Json) =>
  `${String(port)}${nodePort ? `:${textIn(nodePort)}` : ''}/${String(protocol)}`;

const accessNames: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const accessModes = (modes: unknown) =>
  Array.isArray(modes) ? modes.map((mode) => accessNames[String(mode)] ?? String(mode)).join(',') : '';

const bound: (value: Cell) => Cell = (value) => (claim) => (valueAt(claim, 'spec.volumeName') ? value(claim) : '');

const subjects =
  (kind: string): Cell =>
  (binding) =>
    objects(binding['subjects'])
      .filter((subject) => subject['kind'] === kind)
      .map(({ namespace, name }) => (kind === 'ServiceAccount' ? `${String(namespace)}/${String(name)}` : name))
      .join(', ');
const bindings = [
  nameColumn,
  column(
    'Role',
    (binding) => `${String(valueAt(binding, 'roleRef.kind'))}/${String(valueAt(binding, 'roleRef.name'))}`,
  ),
  age,
  wide('Users', subjects('User')),
  wide('Groups', subjects('Group')),
  wide('ServiceAccounts', subjects('ServiceAccount')),
];

function endpoints(slice: ApiObject): string {
  const addresses = objects(slice['endpoints']).flatMap(({ addresses: list }) => (Array.isArray(list) ? list : []));
  if (addresses.length === 0) return '<unset>';
  const shown = addresses.slice(0, 3).join(',');
  return addresses.length > 3 ? `${shown} + ${addresses.length - 3} more...` : shown;
}

function quota(limits: boolean): Cell {
  return (object) => {
    const hard = valueAt(object, 'status.hard');
    const used = valueAt(object, 'status.used');
    return Object.entries(isJson(hard) ? hard : {})
      .filter(([resource]) => resource.startsWith('limits.') === limits)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([resource, most]) => `${resource}: ${textIn((isJson(used) && used[resource]) || '0')}/${String(most)}`)
      .join(', ');
  };
}

function nodeStatus(node: ApiObject): string {
  const ready = objects(valueAt(node, 'status.conditions')).find(({ type }) => type === 'Ready');
  if (!ready) return 'Unknown';
  return ready['status'] === 'True' ? 'Ready' : 'NotReady';
}

function eventTime(path: string): Cell {
  return (event) => valueAt(event, path) ?? event['eventTime'];
}

/** Kind → columns. Order, names, types and cells are those of kubernetes/pkg/printers/internalversion. */
const tables: Readonly<Record<string, readonly Column[]>> = {
  Namespace: [nameColumn, column('Status', at('status.phase')), age],
  Pod: [nameColumn, ...podCells.slice(0, 3), age, ...podCells.slice(3)],
  Service: [
    nameColumn,
    column('Type', at('spec.type')),
    column('Cluster-IP', at('spec.clusterIP', '<none>')),
    column('External-IP', at('spec.externalName', '<none>')),
    column('Port(s)', (object) => joined(objects(valueAt(object, 'spec.ports')).map(servicePort))),
    age,
    selector('spec.selector'),
  ],
  Secret: [nameColumn, column('Type', at('type')), column('Data', ({ data }) => size(data)), age],
  ConfigMap: [nameColumn, column('Data', ({ data, binaryData }) => size(data) + size(binaryData)), age],
  ServiceAccount: [nameColumn, column('Secrets', ({ secrets }) => objects(secrets).length), age],
  Event: [
    column('Last Seen', eventTime('lastTimestamp'), { age: true }),
    column('Type', at('type')),
    column('Reason', at('reason')),
    column('Object', (event) =>
      [String(valueAt(event, 'involvedObject.kind')).toLowerCase(), valueAt(event, 'involvedObject.name')]
        .filter(Boolean)
        .join('/'),
    ),
    wide('Subobject', at('involvedObject.fieldPath')),
    wide('Source', (event) =>
      [
        valueAt(event, 'source.component') ?? event['reportingComponent'],
        valueAt(event, 'source.host') ?? event['reportingInstance'],
      ]
        .filter(Boolean)
        .join(', '),
    ),
    column('Message', (event) => textIn(event['message']).trim()),
    column('First Seen', eventTime('firstTimestamp'), { age: true, priority: 1 }),
    wide('Count', at('count', 1)),
    column('Name', at('metadata.name'), { format: 'name', priority: 1 }),
  ],
  PersistentVolumeClaim: [
    nameColumn,
    column('Status', (claim) => (claim.metadata.deletionTimestamp ? 'Terminating' : at('status.phase')(claim))),
    column('Volume', at('spec.volumeName')),
    column('Capacity', bound(at('status.capacity.storage', '0'))),
    column(
      'Access Modes',
      bound((claim) => accessModes(valueAt(claim, 'status.accessModes'))),
    ),
    column('StorageClass', at('spec.storageClassName')),
    column('VolumeAttributesClass', at('spec.volumeAttributesClassName', '<unset>')),
    age,
    wide('VolumeMode', at('spec.volumeMode', '<unset>')),
  ],
  PersistentVolume: [
    nameColumn,
    column('Capacity', at('spec.capacity.storage', '0')),
    column('Access Modes', (volume) => accessModes(valueAt(volume, 'spec.accessModes'))),
    column('Reclaim Policy', at('spec.persistentVolumeReclaimPolicy')),
    column('Status', (volume) => (volume.metadata.deletionTimestamp ? 'Terminating' : at('status.phase')(volume))),
    column('Claim', (volume) => {
      const claim = valueAt(volume, 'spec.claimRef');
      return isJson(claim) ? `${String(claim['namespace'])}/${String(claim['name'])}` : '';
    }),
    column('StorageClass', at('spec.storageClassName')),
    column('VolumeAttributesClass', at('spec.volumeAttributesClassName', '<unset>')),
    column('Reason', at('status.reason')),
    age,
    wide('VolumeMode', at('spec.volumeMode', '<unset>')),
  ],
  Node: [
    nameColumn,
    column('Status', nodeStatus),
    column('Roles', () => '<none>'),
    age,
    column('Version', at('status.nodeInfo.kubeletVersion')),
    wide('Internal-IP', (node) => objects(valueAt(node, 'status.addresses'))[0]?.['address'] ?? '<none>'),
    wide('External-IP', () => '<none>'),
    wide('OS-Image', at('status.nodeInfo.osImage', '<unknown>')),
    wide('Kernel-Version', at('status.nodeInfo.kernelVersion', '<unknown>')),
    wide('Container-Runtime', at('status.nodeInfo.containerRuntimeVersion', '<unknown>')),
  ],
  ResourceQuota: [nameColumn, column('Request', quota(false)), column('Limit', quota(true)), age],
  LimitRange: [nameColumn, column('Created At', at('metadata.creationTimestamp'))],
  Deployment: [
    nameColumn,
    column(
      'Ready',
      (object) => `${String(at('status.readyReplicas', 0)(object))}/${String(at('spec.replicas')(object))}`,
    ),
    column('Up-to-date', at('status.updatedReplicas', 0)),
    column('Available', at('status.availableReplicas', 0)),
    age,
    ...templateContainers,
    selector('spec.selector.matchLabels'),
  ],
  ReplicaSet: [
    nameColumn,
    count('Desired', 'spec.replicas'),
    count('Current', 'status.replicas'),
    count('Ready', 'status.readyReplicas'),
    age,
    ...templateContainers,
    selector('spec.selector.matchLabels'),
  ],
  StatefulSet: [
    nameColumn,
    column(
      'Ready',
      (object) => `${String(at('status.readyReplicas', 0)(object))}/${String(at('spec.replicas')(object))}`,
    ),
    age,
    ...templateContainers,
  ],
  Job: [
    nameColumn,
    column('Status', jobStatus),
    column('Completions', completions),
    column('Duration', jobDuration),
    age,
    ...templateContainers,
    selector('spec.selector.matchLabels'),
  ],
  CronJob: [
    nameColumn,
    column('Schedule', at('spec.schedule')),
    column('Timezone', at('spec.timeZone', '<none>')),
    column('Suspend', (object) => (valueAt(object, 'spec.suspend') === true ? 'True' : 'False'), { type: 'boolean' }),
    column('Active', (object) => objects(valueAt(object, 'status.active')).length, { type: 'integer' }),
    column('Last Schedule', at('status.lastScheduleTime', '<none>'), { age: true }),
    age,
    ...containers('spec.jobTemplate.spec.template.spec.containers'),
    selector('spec.jobTemplate.spec.selector.matchLabels'),
  ],
  StorageClass: [
    column(
      'Name',
      ({ metadata }) =>
        metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true'
          ? `${metadata.name} (default)`
          : metadata.name,
      { format: 'name' },
    ),
    column('Provisioner', at('provisioner')),
    column('ReclaimPolicy', at('reclaimPolicy')),
    column('VolumeBindingMode', at('volumeBindingMode')),
    column('AllowVolumeExpansion', ({ allowVolumeExpansion }) => allowVolumeExpansion === true, { type: 'boolean' }),
    age,
  ],
  Lease: [nameColumn, column('Holder', at('spec.holderIdentity')), age],
  EndpointSlice: [
    nameColumn,
    column('AddressType', at('addressType')),
    column('Ports', ({ ports }) =>
      joined(
        objects(ports).map(({ port }) => port),
        '<unset>',
      ),
    ),
    column('Endpoints', endpoints),
    age,
  ],
  NetworkPolicy: [
    nameColumn,
    column('Pod-Selector', (object) => selectorText(valueAt(object, 'spec.podSelector.matchLabels'))),
    age,
  ],
  PodDisruptionBudget: [
    nameColumn,
    column('Min Available', at('spec.minAvailable', 'N/A')),
    column('Max Unavailable', at('spec.maxUnavailable', 'N/A')),
    count('Allowed Disruptions', 'status.disruptionsAllowed'),
    age,
  ],
  RoleBinding: bindings,
  ClusterRoleBinding: bindings,
};

/** The columns of `kubectl get` for a built-in kind; a kind that has none of its own shows when it was created. */
export function columnsOf(kind: string): readonly Column[] {
  return tables[kind] ?? [nameColumn, column('Created At', at('metadata.creationTimestamp'), { type: 'date' })];
}
