import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { credentialsName, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { appLabel, kindLabel, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { NotYetError } from '../../runtime/kube/children.ts';
import { releaseName } from '../../runtime/kube/claims.ts';
import { keyOf, type ControllerDefinition, type Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { createServer, randomPassword } from './service-server.ts';
import { observedStatus } from './service-status.ts';
import { createFailureReporter } from './reconcile-failure.ts';
import { ensureIdentity, holdClaims, identityOf } from './workload.ts';
import { deleteSecret } from './secret-deletion.ts';

export interface ServiceControllerOptions {
  kube: KubeClient;
  /** The active settings; undefined before there are any. */
  platformConfig: () => PlatformConfigSpec | undefined;
  /** Writes to PostgreSQL. Every call is idempotent. */
  records: {
    /** Deletes the records of the databases that bindings created in a service. */
    forgetDatabases(serviceId: Id): Promise<void>;
  };
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
  /** For tests. */
  makePassword?: () => string;
}

/**
 * Reconciles a Service: claims its name, and runs its server with a password and storage, or reports the address of an
 * external one. Deleting a Service deletes its data.
 */
export function serviceController(options: ServiceControllerOptions): ControllerDefinition<ServiceResource> {
  const { kube, clock, platformConfig, records, makePassword = randomPassword } = options;
  const reportFailure = createFailureReporter(options);
  const server = createServer({ kube, makePassword });

  const reconcileObject = async (object: Stored<ServiceResource>): Promise<void> => {
    const { workload: service, identity } = await ensureIdentity(kube, object);
    await holdClaims(kube, service);
    const config = platformConfig();
    if (!service.spec.external && !config) throw new NotYetError('there is no PlatformConfig yet');
    const pods = service.spec.external || !config ? undefined : await server.ensure(service, identity, config);
    await writeStatus<ServiceResource>(kube, service, observedStatus(service, pods, clock.now()));
  };

  const finalize = async (service: Stored<ServiceResource>): Promise<void> => {
    const identity = identityOf(service);
    // Without an identity, it never had a name or objects.
    if (identity) {
      if (!service.spec.external) await server.remove(service, identity);
      await deleteSecret(kube, service, credentialsName(identity.name), identity.namespace);
      await records.forgetDatabases(identity.id);
      await releaseName(kube, service);
    }
    await removeFinalizer(kube, service, workloadFinalizer);
  };

  return {
    name: 'Service',
    kind: kinds.ServiceResource,
    owns: [kinds.StatefulSet, kinds.Service],
    watches: [
      // The StatefulSet owns the pods; the claims have no owner.
      ...[kinds.Pod, kinds.PersistentVolumeClaim].map((kind) => ({
        kind,
        selection: { labelSelector: `${kindLabel}=Service` },
        keysOf: workloadKey,
      })),
      // A service may wait for a name that is released.
      { kind: kinds.WorkloadName, ignoreAdded: true, keysOf: ({ metadata }) => [keyOf(metadata)] },
    ],
    async reconcile({ object: service }) {
      if (!service) return;
      if (service.metadata.deletionTimestamp !== undefined) return finalize(service);
      try {
        await reconcileObject(service);
      } catch (error) {
        await reportFailure(kinds.ServiceResource, service, error);
        throw error;
      }
    },
  };
}

function workloadKey({ metadata: { labels, namespace } }: Stored<KubeObject>): Key[] {
  const name = labels?.[appLabel];
  return name === undefined || namespace === undefined ? [] : [{ name, namespace }];
}
