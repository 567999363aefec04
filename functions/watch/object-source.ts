import type { Logger } from 'pino';
import type { WatchKind } from '../../runtime/contracts/api/watch.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { createInformer, type Change as ObjectChange, type Informer } from '../../runtime/kube/informer.ts';
import type { Change } from './feed.ts';

/** The kinds of objects in environments. */
const environmentKinds = {
  App: kinds.App,
  Function: kinds.Function,
  Job: kinds.Job,
  Service: kinds.ServiceResource,
  Volume: kinds.Volume,
} as const satisfies Partial<Record<WatchKind, ResourceKind>>;

/** Watches the objects of all projects. */
export interface ObjectSource {
  /** Starts the watches at the first call. Resolves once every kind is listed. */
  synced(): Promise<void>;
  /** The current Project of a name; undefined when there is none, or none yet. */
  project(name: string): Stored<Project> | undefined;
  stop(): Promise<void>;
}

interface ObjectSourceOptions {
  kube: Pick<KubeClient, 'list' | 'watch'>;
  clock: Clock;
  log: Logger;
  onChange: (projectId: Id, change: Change) => void;
}

/**
 * One watch per kind for all projects. It starts with the first stream, and keeps the metadata of objects only. A change
 * belongs to the environment for which the Project controller created the namespace: another project's environment can have
 * the same namespace in its spec.
 */
export function createObjectSource({ kube, clock, log, onChange }: ObjectSourceOptions): ObjectSource {
  const projects = createInformer<Project>({ kube, kind: kinds.Project, clock, log });
  const slim = metadataOnly(kube);
  const objects = Object.entries(environmentKinds).map(([kind, resource]) => ({
    kind: kind as keyof typeof environmentKinds,
    informer: createInformer<KubeObject>({ kube: slim, kind: resource, clock, log }),
  }));
  const informers: Informer<never>[] = [projects, ...objects.map(({ informer }) => informer)] as never;
  /** Namespace → its environment. */
  const owners = new Map<string, { projectId: Id; environmentId: Id; environment: string }>();

  const forward = (kind: WatchKind, { type, object }: Pick<ObjectChange<KubeObject>, 'type' | 'object'>) => {
    const { name, namespace = '', resourceVersion: version, labels, uid } = object.metadata;
    const owner = owners.get(namespace);
    if (!owner) return;
    const { projectId, environment } = owner;
    onChange(projectId, { type, kind, environment, name, id: labels?.[idLabel] ?? uid, version });
  };

  projects.onChange(({ type, object }) => {
    const projectId = object.metadata.labels?.[idLabel];
    if (projectId === undefined) return;
    const { name, resourceVersion: version } = object.metadata;
    const ids = new Set(type === 'deleted' ? [] : object.spec.environments.map(({ id }) => id));
    for (const [namespace, owner] of owners) {
      if (owner.projectId === projectId && !ids.has(owner.environmentId)) owners.delete(namespace);
    }
    onChange(projectId, { type, kind: 'Project', name, id: projectId, version });
    for (const { namespace, ready, id, name: environment } of object.status?.environments ?? []) {
      if (!ready || !ids.has(id) || owners.get(namespace)?.environmentId === id) continue;
      owners.set(namespace, { projectId, environmentId: id, environment });
      // Objects that were seen before the environment was.
      for (const { kind, informer } of objects) {
        for (const object of informer.list()) {
          if (object.metadata.namespace === namespace) forward(kind, { type: 'added', object });
        }
      }
    }
  });
  for (const { kind, informer } of objects) informer.onChange((change) => forward(kind, change));

  return {
    async synced() {
      for (const informer of informers) informer.start();
      await Promise.all(informers.map((informer) => informer.whenSynced()));
    },
    project: (name) => projects.get(name),
    async stop() {
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

/** Reads objects without their content, which is most of their memory. */
function metadataOnly(kube: Pick<KubeClient, 'list' | 'watch'>): Pick<KubeClient, 'list' | 'watch'> {
  const slim = <T extends KubeObject>({ apiVersion, kind, metadata }: Stored<T>) => {
    const { name, namespace, uid, resourceVersion, labels } = metadata;
    const id = labels?.[idLabel];
    const kept = { name, namespace, uid, resourceVersion, ...(id !== undefined && { labels: { [idLabel]: id } }) };
    return { apiVersion, kind, metadata: kept } as unknown as Stored<T>;
  };
  return {
    async list<T extends KubeObject>(...request: Parameters<KubeClient['list']>) {
      const { items, resourceVersion } = await kube.list<T>(...request);
      return { items: items.map((item) => slim(item)), resourceVersion };
    },
    async *watch<T extends KubeObject>(...request: Parameters<KubeClient['watch']>) {
      for await (const { type, object } of kube.watch<T>(...request)) yield { type, object: slim(object) };
    },
  };
}
