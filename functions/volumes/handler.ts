import type { ObjectMeta, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Volume } from '../../runtime/contracts/resources/volume.ts';
import { newId } from '../../runtime/domain/ids.ts';
import {
  environmentIdLabel,
  environmentLabel,
  idLabel,
  kindLabel,
  managedLabels,
  projectLabel,
  workloadFinalizer,
} from '../../runtime/domain/labels.ts';
import { checkWorkloadName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkBytes } from '../../runtime/domain/quantity.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { checkExpandable, checkStorageClass } from '../../runtime/host/storage-class.ts';
import { createInEnvironment } from '../../runtime/host/workload-create.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { usersPhrase, volumeUsers } from '../../runtime/kube/volume-users.ts';
import {
  createVolumeSchema,
  deleteVolumeSchema,
  getVolumeSchema,
  listVolumesSchema,
  resizeVolumeSchema,
} from './schema.ts';
import { volumeToView } from './view.ts';

const tag = 'volumes';
const collection = '/projects/:project/volumes';
const path = `${collection}/:volume`;
const least = '1Mi';

/** `/projects/{p}/volumes`: Volume objects, whose controller does the rest. */
export function createVolumeRoutes({ kube }: { kube: KubeClient }): Route[] {
  const find = async ({ project, environment, namespace }: Environment, name: string): Promise<Stored<Volume>> => {
    const found = await kube.get<Volume>(kinds.Volume, name, namespace);
    if (found) return found;
    throw new Problem(
      'not_found',
      `There is no volume "${name}" in environment "${environment}" of project "${project}"; list them with \`svc volume list\`.`,
    );
  };
  const shown = async (volume: Stored<Volume>, environment: Environment) =>
    volumeToView(volume, environment, (await volumeUsers(kube, environment.namespace))(volume.metadata.name));

  return [
    route({
      ...createVolumeSchema,
      method: 'POST',
      path: collection,
      access: { project: 'deployer' },
      tag,
      summary: 'Creates a volume, which apps and jobs can mount.',
      async handle(request) {
        const { params, query, body, log } = request;
        const { name, ...spec } = body;
        checkWorkloadName(name);
        checkBytes(spec.size, 'size', { min: least });
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        await checkStorageClass(kube, spec.storageClass);
        const { apiVersion, kind } = kinds.Volume;
        const metadata = newVolumeMetadata(name, environment);
        const created = await createInEnvironment<Volume>(kube, { apiVersion, kind, metadata, spec } as Volume, {
          environment,
          taken: () =>
            new Problem('already_exists', `There is a volume "${name}" in this environment already.`, {
              details: { name },
            }),
        });
        log.info({ volume: name, namespace: environment.namespace, actor: sessionOf(request).email }, 'volume created');
        return { status: 201, body: volumeToView(created, environment, []) };
      },
    }),
    route({
      ...listVolumesSchema,
      method: 'GET',
      path: collection,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the volumes of an environment by name.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const { namespace } = environment;
        const { items } = await kube.list<Volume>(kinds.Volume, { namespace });
        const users = await volumeUsers(kube, namespace);
        const page = pageOf(items, ({ metadata }) => metadata.name, query);
        const views = page.items.map((volume) => volumeToView(volume, environment, users(volume.metadata.name)));
        return { status: 200, body: { ...page, items: views } };
      },
    }),
    route({
      ...getVolumeSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows a volume and what mounts it.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        return { status: 200, body: await shown(await find(environment, params.volume), environment) };
      },
    }),
    route({
      ...resizeVolumeSchema,
      method: 'PATCH',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Makes a volume larger; it never shrinks.',
      async handle(request) {
        const { params, query, body, log } = request;
        const wanted = checkBytes(body.size, 'size', { min: least });
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const volume = await find(environment, params.volume);
        if (await mayGrow(kube, volume, wanted)) {
          const { spec } = await kube.replace({ ...volume, spec: { ...volume.spec, size: body.size } });
          volume.spec = spec;
          const actor = sessionOf(request).email;
          log.info(
            { volume: params.volume, namespace: environment.namespace, size: body.size, actor },
            'volume resized',
          );
        }
        return { status: 200, body: await shown(volume, environment) };
      },
    }),
    route({
      ...deleteVolumeSchema,
      method: 'DELETE',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Deletes a volume and its data, unless something mounts it; 202 while that goes on.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const { namespace } = environment;
        const { apiVersion, kind, metadata } = await find(environment, params.volume);
        const { name, uid } = metadata;
        const users = (await volumeUsers(kube, namespace))(name);
        if (users.length > 0) {
          throw new Problem(
            'in_use',
            `The volume "${name}" is mounted by ${usersPhrase(users)}; take it out there first (--no-volumes), or delete that.`,
            { details: { mountedBy: users } },
          );
        }
        await kube.delete({ apiVersion, kind, namespace, name }, { preconditions: { uid } });
        log.info({ volume: name, namespace, actor: sessionOf(request).email }, 'volume deleted');
        const left = await kube.get<Volume>(kinds.Volume, name, namespace);
        return left?.metadata.uid === uid
          ? { status: 202, body: volumeToView(left, environment, []) }
          : { status: 204 };
      },
    }),
  ];
}

function newVolumeMetadata(name: string, at: Environment): ObjectMeta {
  return {
    name,
    namespace: at.namespace,
    labels: {
      ...managedLabels(),
      [kindLabel]: 'Volume',
      [idLabel]: newId(),
      [projectLabel]: at.project,
      [environmentLabel]: at.environment,
      [environmentIdLabel]: at.environmentId,
    },
    finalizers: [workloadFinalizer],
  };
}

/**
 * Whether there is anything to change. @throws Problem `invalid_value` for a smaller size, `not_ready` for a volume that
 * is being deleted or has no storage yet, `volume_not_expandable`
 */
async function mayGrow(kube: KubeClient, { metadata, spec, status }: Stored<Volume>, wanted: number): Promise<boolean> {
  const { name } = metadata;
  if (metadata.deletionTimestamp !== undefined)
    throw new Problem('not_ready', `The volume "${name}" is being deleted.`);
  const present = checkBytes(spec.size, 'size', { min: '0' });
  if (wanted < present) {
    throw new Problem(
      'invalid_value',
      `The volume "${name}" has ${spec.size} and cannot shrink; create a smaller one and copy the data.`,
      { details: { field: 'size' } },
    );
  }
  if (wanted === present) return false;
  // Kubernetes grows a claim only once it has its storage.
  if (status?.capacity === undefined || status.storageClass === undefined) {
    throw new Problem(
      'not_ready',
      `The volume "${name}" has no storage yet; it can grow once something has mounted it, or be deleted and created anew.`,
    );
  }
  await checkExpandable(kube, status.storageClass);
  return true;
}
