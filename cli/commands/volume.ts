import { volumeView, type VolumeView } from '../../runtime/contracts/api/volumes.ts';
import { volumeAccessModes } from '../../runtime/contracts/resources/volume.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { choice, requiredText, text } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ageColumn } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';

function mountedBy({ mountedBy: workloads }: VolumeView): string | undefined {
  return workloads.map(({ kind, name }) => `${kind.toLowerCase()} ${name}`).join(', ') || undefined;
}

const volumeKind = defineKind<VolumeView>({
  name: 'volume',
  level: 'environment',
  collection: 'volumes',
  schema: volumeView,
  id: ({ name }) => name,
  examples: ['data', 'scratch'],
  columns: (_, { now }) => [
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'SIZE', value: ({ size }) => size },
    { title: 'CLASS', value: ({ storageClass }) => storageClass },
    { title: 'MOUNTED BY', value: mountedBy },
    ageColumn(now),
  ],
  details: (view) => [
    ['Volume', view.name],
    ['Project', view.project],
    ['Environment', view.environment],
    ['Status', view.status],
    ['Message', view.message],
    ['Size', view.size],
    ['Capacity', view.capacity],
    ['Class', view.storageClass],
    ['Access', view.accessMode],
    ['Mounted by', mountedBy(view)],
  ],
  help: {
    show: 'Show a volume and the workloads that mount it.',
    delete: 'Delete unmounted volumes and all their data.',
  },
  loss: 'all data',
});

const create = command({
  name: 'create',
  args: ['volume'],
  description: 'Create a volume: storage that outlives the pods that mount it.',
  flags: {
    size: requiredText('<quantity>', 'size, such as 10Gi'),
    class: text('<class>', "storage class (default: the cluster's)"),
    access: choice(volumeAccessModes, 'access mode (default ReadWriteOnce)'),
    ...scopeFlags,
  },
  data: volumeKind.schema,
  examples: ['svc volume create data --size 10Gi', 'svc volume create data --size 10Gi --class fast'],
  async run({ context, args, flags }) {
    const { size, class: storageClass, access: accessMode } = flags;
    const body = {
      name: args.volume,
      size,
      ...(storageClass !== undefined && { storageClass }),
      ...(accessMode !== undefined && { accessMode }),
    };
    volumeKind.print(context, await volumeKind.create(resolveScope(context, flags), body), flags.output);
  },
});

const resize = command({
  name: 'resize',
  args: ['volume'],
  description: 'Grow a volume. A volume cannot shrink.',
  flags: { size: requiredText('<quantity>', 'new size, such as 20Gi'), ...waitFlags, ...scopeFlags },
  examples: ['svc volume resize data --size 20Gi'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const resized = await volumeKind.update(scope, args.volume, { size: flags.size });
    const current = flags.wait ? await waitForResize(context, flags, scope, resized) : resized;
    volumeKind.print(context, current, flags.output);
  },
});

/** Waits until a volume has its new size, or until only a pod that mounts it can complete the change. */
function waitForResize(
  context: Context,
  flags: WaitFlags,
  scope: Scope,
  { name, size }: VolumeView,
): Promise<VolumeView> {
  const requested = parseBytes(size) ?? 0;
  return waitFor(
    context,
    flags,
    async () => {
      const current = await volumeKind.read(scope, name);
      if (current.status === 'failed') {
        throw new Failure(`Volume "${name}" failed: ${current.message ?? 'see its status'}`, { code: 'failed' });
      }
      if ((parseBytes(current.capacity ?? '') ?? 0) >= requested) return { done: current };
      if (current.status === 'resizing' && current.mountedBy.length === 0 && current.message !== undefined) {
        context.say(current.message);
        return { done: current };
      }
      return { progress: `${name}: ${current.status} (${current.capacity ?? 'nothing'} of ${size})` };
    },
    `svc volume show ${name} ${scope.flags}`,
  );
}

export const volumeCommands: Commands = {
  commands: [create, volumeKind.list, volumeKind.show, resize, volumeKind.delete],
};
