import type { WatchKind } from '../../runtime/contracts/api/watch.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { Change as ObjectChange } from '../../runtime/kube/informer.ts';
import type { CopiedKind, ObjectCopies } from '../../runtime/kube/object-copies.ts';
import type { Change } from './feed.ts';

/** The kinds of objects in environments. */
const environmentKinds = ['App', 'Function', 'Job', 'Service', 'Volume'] as const satisfies (WatchKind & CopiedKind)[];

/** Watches the objects of all projects. */
export interface ObjectSource {
  /** Starts the watches at the first call. Resolves once every kind is listed. */
  synced(): Promise<void>;
  /** The current Project of a name; undefined when there is none, or none yet. */
  project(name: string): Stored<Project> | undefined;
}

interface ObjectSourceOptions {
  copies: Pick<ObjectCopies, 'informer' | 'start'>;
  onChange: (projectId: Id, change: Change) => void;
}

/**
 * The watches of the copies that the process keeps of all projects. A change belongs to the environment for which the Project
 * controller created the namespace: another project's environment can have the same namespace in its spec.
 */
export function createObjectSource({ copies, onChange }: ObjectSourceOptions): ObjectSource {
  const projects = copies.informer<Project>('Project');
  const objects = environmentKinds.map((kind) => ({ kind, informer: copies.informer<KubeObject>(kind) }));
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
      copies.start();
      await Promise.all([projects.whenSynced(), ...objects.map(({ informer }) => informer.whenSynced())]);
    },
    project: (name) => projects.get(name),
  };
}
