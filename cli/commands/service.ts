import { serviceAccess, serviceView, type ServiceView } from '../../runtime/contracts/api/services.ts';
import { serviceTypes } from '../../runtime/contracts/resources/service.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { requiredChoice, text } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ageColumn, fields } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import { messageColumn } from '../workload-columns.ts';
import { metricsCommand } from './workload-metrics.ts';
import { connectCommand } from './service-connect.ts';
import { externalFlags, externalBody } from './service-external.ts';

const serviceKind = defineKind<ServiceView>({
  name: 'service',
  level: 'environment',
  collection: 'services',
  schema: serviceView,
  id: ({ name }) => name,
  examples: ['orders', 'cache'],
  columns: (items, { now }) => [
    { title: 'TYPE', value: ({ type }) => type },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'HOST', value: ({ host }) => host },
    { title: 'PORT', value: ({ port }) => port },
    ageColumn(now),
    ...messageColumn(items, now),
  ],
  details: (view) => [
    ['Service', view.name],
    ['Project', view.project],
    ['Environment', view.environment],
    ['Type', view.type],
    ['Status', view.status],
    ['Message', view.message],
    ['Managed', view.external ? 'no (external)' : 'yes'],
    ['Host', view.host],
    ['Port', view.port],
    ['TLS', view.tls ? 'yes' : undefined],
    ['Size', view.size],
    ['Class', view.storageClass],
  ],
  help: {
    show: 'Show a service and the address that workloads connect to.',
    delete: 'Delete services, including all data of managed services.',
  },
  loss: 'all data of managed services',
});

export function waitUntilReady(context: Context, flags: WaitFlags, scope: Scope, name: string): Promise<ServiceView> {
  return waitFor(
    context,
    flags,
    async () => {
      const current = await serviceKind.read(scope, name);
      if (current.status === 'ready') return { done: current };
      if (current.status === 'failed') {
        throw new Failure(`Service "${name}" failed: ${current.message ?? 'see its status'}`, { code: 'failed' });
      }
      return { progress: `${name}: ${current.message ?? current.status}` };
    },
    `svc service show ${name} ${scope.flags}`,
  );
}

const create = command({
  name: 'create',
  args: ['service'],
  description: 'Create a database, cache or object store, or register an external one.',
  flags: {
    type: requiredChoice(serviceTypes, 'type of the service'),
    size: text('<quantity>', 'storage size, such as 10Gi (default 1Gi)'),
    storageClass: text('<class>', "storage class (default: the cluster's)"),
    ...externalFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  data: serviceKind.schema,
  examples: [
    'svc service create orders --type postgres --size 10Gi',
    'svc service create cache --type redis',
    'svc service create notes --type mongodb',
    'svc service create legacy --type mysql --external db.example.com:3307 --tls --username shop --database shop',
    'svc service create files --type minio --external s3.example.com:443 --tls --access-key AKIAEXAMPLE --bucket uploads --password-stdin < secret',
  ],
  async run({ context, args, flags }) {
    const { type, size, storageClass } = flags;
    const body = {
      name: args.service,
      type,
      ...(size !== undefined && { size }),
      ...(storageClass !== undefined && { storageClass }),
      ...(await externalBody(context, flags)),
    };
    const scope = resolveScope(context, flags);
    const created = await serviceKind.create(scope, body);
    const current = flags.wait ? await waitUntilReady(context, flags, scope, args.service) : created;
    serviceKind.print(context, current, flags.output);
  },
});

const credentials = command({
  name: 'credentials',
  args: ['service'],
  description: 'Show connection details and credentials (project admins only; audited).',
  flags: scopeFlags,
  examples: ['svc service credentials orders', 'svc service credentials orders -o json'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const path = scope.path('services', args.service, 'credentials');
    const access = await scope.api.call('GET', path, serviceAccess, { query: scope.query });
    const lines = fields([
      ['Host', access.host],
      ['Port', access.port],
      ['TLS', access.tls ? 'yes' : undefined],
      ['Username', access.username],
      ['Password', access.password],
      ['Database', access.database],
      ['Access key', access.accessKey],
      ['Secret key', access.secretKey],
      ['Region', access.region],
      ['Bucket', access.bucket],
    ]);
    context.print({ data: access, table: lines, names: [access.name] }, flags.output);
  },
});

export const serviceCommands: Commands = {
  commands: [
    create,
    serviceKind.list,
    serviceKind.show,
    metricsCommand('service'),
    credentials,
    connectCommand,
    serviceKind.delete,
  ],
};
