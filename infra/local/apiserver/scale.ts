import { valueAt, type Json } from './json.ts';
import type { ApiObject } from './resource.ts';

/** A view of an object for reads and writes: the object itself, its status or its scale. */
export interface ResourceView {
  read: (live: ApiObject) => ApiObject;
  /** The whole object after a write of its view. */
  write: (live: ApiObject, body: unknown) => unknown;
  part: 'main' | 'status';
}

/** The scale subresource of a workload. https://kubernetes.io/docs/reference/kubernetes-api/autoscaling-resources/scale-v1/ */
export const scale: ResourceView = {
  read({ metadata, spec, status }) {
    const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
    const replicas = valueAt(spec, 'replicas');
    const labels = Object.entries(valueAt(spec, 'selector.matchLabels') ?? {});
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      // Go omits zero values.
      spec: replicas === 0 ? {} : { replicas },
      status: {
        replicas: valueAt(status, 'replicas') ?? 0,
        selector: labels
          .map(([key, value]) => `${key}=${String(value)}`)
          .sort()
          .join(','),
      },
    } as ApiObject;
  },
  write: (live, body) => ({
    ...live,
    metadata: {
      ...live.metadata,
      resourceVersion: valueAt(body, 'metadata.resourceVersion'),
      uid: valueAt(body, 'metadata.uid'),
    },
    spec: { ...(live.spec as Json), replicas: valueAt(body, 'spec.replicas') ?? 0 },
  }),
  part: 'main',
};
