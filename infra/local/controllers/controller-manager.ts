import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { createControllerMetrics } from '../../../runtime/kube/controller-metrics.ts';
import { createController, type ControllerDefinition } from '../../../runtime/kube/controller.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { cronJobController } from './cron-job.ts';
import { deploymentController } from './deployment.ts';
import { endpointSliceController } from './endpoint-slice.ts';
import { createGarbageCollector } from './garbage-collector.ts';
import { jobController } from './job.ts';
import { persistentVolumeClaimController } from './persistent-volume-claim.ts';
import { replicaSetController } from './replica-set.ts';
import { serviceAddressController } from './service-address.ts';
import { statefulSetController } from './stateful-set.ts';

/**
 * Kinds without owners, and those that the embedded API server does not serve (nodes, DaemonSets). Token reviews are
 * answered but never stored.
 */
const unownedKinds: readonly ResourceKind[] = [
  kinds.Event,
  kinds.Lease,
  kinds.CustomResourceDefinition,
  kinds.PodMetrics,
  kinds.PodMonitor,
  kinds.Node,
  kinds.DaemonSet,
  kinds.Ingress,
  kinds.TokenReview,
];

/** The kinds that can own or be owned. The garbage collector lists them all. */
export const collectedKinds: readonly ResourceKind[] = Object.values(kinds).filter(
  (kind) => !unownedKinds.includes(kind),
);

/** The part of kube-controller-manager that the platform needs. There is one instance, so it needs no Lease. */
export interface ControllerManager {
  /** Resolves when all controllers run. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param options.collected kinds that can own or be owned; default: all kinds of the platform, whose CRDs must exist
 * @param options.jobRetry wait between a Job's attempts; default 10 s, doubling up to 6 min
 */
export function createControllerManager(options: {
  kube: KubeClient;
  clock: Clock;
  log: Logger;
  registry: Registry;
  collected?: readonly ResourceKind[];
  jobRetry?: { baseMs: number; maxMs: number };
}): ControllerManager {
  const { kube, clock, log, collected = collectedKinds, jobRetry } = options;
  const informers = createInformers({ kube, clock, log });
  const metrics = createControllerMetrics(options.registry);
  const definitions: ControllerDefinition[] = [
    replicaSetController(kube, clock),
    deploymentController(kube, clock),
    statefulSetController(kube),
    jobController(kube, clock, jobRetry),
    cronJobController(kube, clock),
    endpointSliceController(kube),
    serviceAddressController(kube),
    persistentVolumeClaimController(kube),
  ];
  const controllers = definitions.map((definition) =>
    createController({ kube, definition, informers, metrics, clock, log }),
  );
  const parts = [...controllers, createGarbageCollector({ kube, informers, kinds: collected, clock, log })];

  return {
    async start() {
      for (const controller of controllers) controller.register();
      informers.start();
      await informers.whenSynced();
      for (const part of parts) part.start();
    },
    async stop() {
      await informers.stop();
      await Promise.all(parts.map((part) => part.stop()));
    },
  };
}
