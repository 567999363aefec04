import type { V1Deployment, V1StatefulSet } from '@kubernetes/client-node';
import { Gauge, type Registry } from 'prom-client';
import type { BuiltIn, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import { createMissedSchedules, type ScheduledJob } from './missed-schedules.ts';
import type { ClusterNode } from './nodes.ts';
import { readOnlyCrashes } from './read-only-filesystem.ts';

export type PlatformDeployment = BuiltIn<V1Deployment, 'spec'>;
export type PlatformStatefulSet = BuiltIn<V1StatefulSet, 'spec'>;

/** One process of the platform, with its wanted and ready replicas. */
interface ProcessReplicas {
  name: string;
  replicas: number;
  ready: number;
}

/** What the watches of svc-controllers hold. */
export interface ObservedState {
  pods: () => Stored<Pod>[];
  cronJobs: () => Stored<ScheduledJob>[];
  /** Those of the platform's own namespace suffice: a health report every few seconds must not look at thousands. */
  deployments: () => Stored<PlatformDeployment>[];
  statefulSets: () => Stored<PlatformStatefulSet>[];
  nodes: () => readonly ClusterNode[];
}

/** The platform's own processes and stores: what runs in its namespace. */
export function processReplicas({
  deployments,
  statefulSets,
}: Pick<ObservedState, 'deployments' | 'statefulSets'>): ProcessReplicas[] {
  return [...deployments(), ...statefulSets()]
    .filter(({ metadata }) => metadata.namespace === systemNamespace)
    .map(({ metadata, spec, status }) => ({
      name: metadata.name,
      replicas: spec.replicas ?? 1,
      ready: status?.readyReplicas ?? 0,
    }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

/**
 * Registers the gauges from which alerts are made (docs/reference/metrics.md#state); each scrape reads the
 * watches. Their labels are none of those that Prometheus adds for the process that it scrapes: process, pod, node.
 */
export function exportState(registry: Registry, state: ObservedState, clock: Clock): void {
  const missed = createMissedSchedules();
  const registers = [registry];
  type Sample = { labels: Record<string, string>; value: number };
  const gauge = (name: string, help: string, labelNames: readonly string[], samples: () => Sample[]) =>
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers,
      collect() {
        this.reset();
        for (const { labels, value } of samples()) this.set(labels, value);
      },
    });
  const workload = ['namespace', 'kind', 'name'];

  gauge('svc_process_replicas', 'Wanted replicas of a process or store of the platform.', ['name'], () =>
    processReplicas(state).map(({ name, replicas }) => ({ labels: { name }, value: replicas })),
  );
  gauge('svc_process_ready_replicas', 'Ready replicas of a process or store of the platform.', ['name'], () =>
    processReplicas(state).map(({ name, ready }) => ({ labels: { name }, value: ready })),
  );
  gauge('svc_store_capacity_bytes', 'Size of the volume of a store of the platform.', ['store'], () =>
    state.statefulSets().flatMap(({ metadata, spec }) => {
      const storage = spec.volumeClaimTemplates?.[0]?.spec?.resources?.requests?.['storage'];
      const value = storage === undefined ? undefined : parseBytes(storage);
      return metadata.namespace !== systemNamespace || value === undefined
        ? []
        : [{ labels: { store: metadata.name }, value }];
    }),
  );
  gauge('svc_node_ready', 'Whether a node of the cluster is ready.', ['name'], () =>
    state.nodes().map(({ name, ready }) => ({ labels: { name }, value: ready ? 1 : 0 })),
  );
  gauge('svc_schedule_missed', 'Workloads whose last scheduled run did not start.', workload, () =>
    missed.find(state.cronJobs(), clock.now()).map((labels) => ({ labels: { ...labels }, value: 1 })),
  );
  const crashes = () => readOnlyCrashes(state.pods(), clock.now());
  gauge(
    'svc_read_only_filesystem',
    'Workloads that crashed in the last 30 minutes because a file system was read-only, up to 3 in a namespace.',
    workload,
    () => crashes().map(({ namespace, kind, name }) => ({ labels: { namespace, kind, name }, value: 1 })),
  );
  gauge(
    'svc_read_only_filesystem_info',
    'The log line and the volumes of each workload of svc_read_only_filesystem.',
    [...workload, 'line', 'volumes'],
    () => crashes().map(({ volumes, ...labels }) => ({ labels: { ...labels, volumes: volumes.join(', ') }, value: 1 })),
  );
}
