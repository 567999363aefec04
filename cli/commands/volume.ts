import { volumeView, type VolumeView } from '../../runtime/contracts/api/volumes.ts';
import { volumeAccessModes } from '../../runtime/contracts/resources/volume.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { choice, requiredText, text } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { removeAll } from '../removal.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';

function shown(volume: VolumeView): Shown {
  return {
    data: volume,
    table: fields([
      ['Volume', volume.name],
      ['Project', volume.project],
      ['Environment', volume.environment],
      ['Status', volume.status],
      ['Message', volume.message],
      ['Size', volume.size],
      ['Capacity', volume.capacity],
      ['Class', volume.storageClass],
      ['Access', volume.accessMode],
      ['Mounted by', mountedBy(volume)],
    ]),
    names: [volume.name],
  };
}

function mountedBy({ mountedBy: users }: VolumeView): string | undefined {
  return users.map(({ kind, name }) => `${kind.toLowerCase()} ${name}`).join(', ') || undefined;
}

const readVolume = (place: Place, name: string) =>
  place.api.call('GET', place.path('volumes', name), volumeView, { query: place.query });

const create = command({
  name: 'create',
  args: ['volume'],
  description: 'Create a volume: storage that outlives the pods that mount it.',
  flags: {
    size: requiredText('<quantity>', 'size, such as 10Gi'),
    class: text('<class>', "storage class (default: the cluster's)"),
    access: choice(volumeAccessModes, 'how many nodes may have it mounted at once (default ReadWriteOnce)'),
    ...scopeFlags,
  },
  examples: ['svc volume create data --size 10Gi', 'svc volume create data --size 10Gi --class fast'],
  async run({ context, args, flags }) {
    const { size, class: storageClass, access: accessMode } = flags;
    const body = {
      name: args.volume,
      size,
      ...(storageClass !== undefined && { storageClass }),
      ...(accessMode !== undefined && { accessMode }),
    };
    const place = placeOf(context, flags);
    const created = await place.api.call('POST', place.path('volumes'), volumeView, { query: place.query, body });
    context.print(shown(created), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the volumes of an environment.',
  flags: scopeFlags,
  examples: ['svc volume list', 'svc volume list --project shop --environment prod -o name'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('volumes'), volumeView, place.query);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'VOLUME', value: ({ name }) => name },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'SIZE', value: ({ size }) => size },
          { title: 'CLASS', value: ({ storageClass }) => storageClass },
          { title: 'MOUNTED BY', value: mountedBy },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
        ]),
        names: items.map(({ name }) => name),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['volume'],
  description: 'Show a volume and what mounts it.',
  flags: scopeFlags,
  examples: ['svc volume show data', 'svc volume show data -o json'],
  async run({ context, args, flags }) {
    context.print(shown(await readVolume(placeOf(context, flags), args.volume)), flags.output);
  },
});

const resize = command({
  name: 'resize',
  args: ['volume'],
  description: 'Make a volume larger; it never shrinks.',
  flags: { size: requiredText('<quantity>', 'size, such as 20Gi'), ...waitFlags, ...scopeFlags },
  examples: ['svc volume resize data --size 20Gi'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const options = { query: place.query, body: { size: flags.size } };
    const resized = await place.api.call('PATCH', place.path('volumes', args.volume), volumeView, options);
    context.print(shown(flags.wait ? await untilGrown(context, flags, place, resized) : resized), flags.output);
  },
});

/** Also ends when only a pod that mounts it can bring it further. */
function untilGrown(context: Context, flags: WaitFlags, place: Place, { name, size }: VolumeView): Promise<VolumeView> {
  const wanted = parseBytes(size) ?? 0;
  return waitFor(
    context,
    flags,
    async () => {
      const volume = await readVolume(place, name);
      if (volume.status === 'failed') {
        throw new Failure(`Volume "${name}" failed: ${volume.message ?? 'see its status'}`, { code: 'failed' });
      }
      if ((parseBytes(volume.capacity ?? '') ?? 0) >= wanted) return { done: volume };
      if (volume.status === 'resizing' && volume.mountedBy.length === 0 && volume.message !== undefined) {
        context.say(volume.message);
        return { done: volume };
      }
      return { progress: `${name}: ${volume.status} (${volume.capacity ?? 'nothing'} of ${size})` };
    },
    `it goes on: svc volume show ${name} ${place.flags}`,
  );
}

const remove = command({
  name: 'delete',
  args: ['...volumes'],
  description: 'Delete volumes and their data; refused while anything mounts them.',
  flags: { ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc volume delete data', 'svc volume delete data scratch --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const look = (name: string) => readVolume(place, name);
    const what = { what: 'volume', collection: 'volumes', names: args.volumes, look } as const;
    await removeAll(context, flags, place, { ...what, lost: ' with all data' });
  },
});

export const volumeCommands: Commands = {
  commands: [create, list, show, resize, remove],
};
