import { serviceAccess, serviceView, type ServiceView } from '../../runtime/contracts/api/services.ts';
import { serviceTypes } from '../../runtime/contracts/resources/service.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { requiredChoice, text } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { removeAll } from '../removal.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import { messageColumn } from '../workload-message.ts';
import { externalFlags, externalOf } from './service-external.ts';

function shown(service: ServiceView): Shown {
  return {
    data: service,
    table: fields([
      ['Service', service.name],
      ['Project', service.project],
      ['Environment', service.environment],
      ['Type', service.type],
      ['Status', service.status],
      ['Message', service.message],
      ['Run by', service.external ? 'others' : 'the platform'],
      ['Host', service.host],
      ['Port', service.port],
      ['TLS', service.tls ? 'yes' : undefined],
      ['Size', service.size],
      ['Class', service.storageClass],
    ]),
    names: [service.name],
  };
}

const readService = (place: Place, name: string) =>
  place.api.call('GET', place.path('services', name), serviceView, { query: place.query });

function untilReady(context: Context, flags: WaitFlags, place: Place, name: string): Promise<ServiceView> {
  return waitFor(
    context,
    flags,
    async () => {
      const service = await readService(place, name);
      if (service.status === 'ready') return { done: service };
      if (service.status === 'failed') {
        throw new Failure(`Service "${name}" failed: ${service.message ?? 'see its status'}`, { code: 'failed' });
      }
      return { progress: `${name}: ${service.message ?? service.status}` };
    },
    `it goes on: svc service show ${name} ${place.flags}`,
  );
}

const create = command({
  name: 'create',
  args: ['service'],
  description: 'Create a database, cache or object store, or register one that runs elsewhere.',
  flags: {
    type: requiredChoice(serviceTypes, 'what it is'),
    size: text('<quantity>', 'storage, such as 10Gi (default 1Gi)'),
    storageClass: text('<class>', "storage class (default: the cluster's)"),
    ...externalFlags,
    ...waitFlags,
    ...scopeFlags,
  },
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
      ...(await externalOf(context, flags)),
    };
    const place = placeOf(context, flags);
    const created = await place.api.call('POST', place.path('services'), serviceView, { query: place.query, body });
    context.print(shown(flags.wait ? await untilReady(context, flags, place, args.service) : created), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the services of an environment.',
  flags: scopeFlags,
  examples: ['svc service list', 'svc service list --project shop --environment prod -o name'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('services'), serviceView, place.query);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'SERVICE', value: ({ name }) => name },
          { title: 'TYPE', value: ({ type }) => type },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'HOST', value: ({ host }) => host },
          { title: 'PORT', value: ({ port }) => port },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
          ...messageColumn(items, now),
        ]),
        names: items.map(({ name }) => name),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['service'],
  description: 'Show a service and where workloads reach it.',
  flags: scopeFlags,
  examples: ['svc service show orders', 'svc service show orders -o json'],
  async run({ context, args, flags }) {
    context.print(shown(await readService(placeOf(context, flags), args.service)), flags.output);
  },
});

const credentials = command({
  name: 'credentials',
  args: ['service'],
  description: 'Print the way into a service; only for admins of the project, and logged.',
  flags: scopeFlags,
  examples: ['svc service credentials orders', 'svc service credentials orders -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('services', args.service, 'credentials');
    const access = await place.api.call('GET', path, serviceAccess, { query: place.query });
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

const remove = command({
  name: 'delete',
  args: ['...services'],
  description: 'Delete services, with all data of those that the platform runs.',
  flags: { ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc service delete orders', 'svc service delete orders cache --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const look = (name: string) => readService(place, name);
    const what = { what: 'service', collection: 'services', names: args.services, look } as const;
    await removeAll(context, flags, place, { ...what, lost: ', with all data of what the platform runs' });
  },
});

export const serviceCommands: Commands = {
  commands: [create, list, show, credentials, remove],
};
