import { valueAt, type Json } from './json.ts';
import type { ApiObject } from './resource.ts';
import type { Side } from './rest.ts';

/** The scale subresource of a workload. https://kubernetes.io/docs/reference/kubernetes-api/autoscaling-resources/scale-v1/ */
export const scale: Side = {
  read({ metadata, spec, status }) {
    const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
    const replicas = valueAt(spec, 'replicas');
    const labels = Object.entries(valueAt(spec, 'selector.matchLabels') ?? {});
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      // As Go writes it: none is nothing.
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
  write: (live, given) => ({
    ...live,
    metadata: {
      ...live.metadata,
      resourceVersion: valueAt(given, 'metadata.resourceVersion'),
      uid: valueAt(given, 'metadata.uid'),
    },
    spec: { ...(live.spec as Json), replicas: valueAt(given, 'spec.replicas') ?? 0 },
  }),
  part: 'main',
};
