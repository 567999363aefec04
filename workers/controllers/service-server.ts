import { randomBytes } from 'node:crypto';
import { probePace } from '../../infra/manifests/platform/pod.ts';
import {
  serviceAddress,
  serviceClaimName,
  serviceStatefulSet,
  type ServiceManifestInput,
  type ServiceStatefulSet,
} from '../../infra/manifests/service.ts';
import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec, ServerType } from '../../runtime/contracts/resources/platform-config.ts';
import {
  credentialsName,
  eventsTokenField,
  eventsTokenName,
  passwordField,
  type ServiceResource,
} from '../../runtime/contracts/resources/service.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { ownedSecret, type Secret } from '../../runtime/workloads/owned-secret.ts';
import { credentialsData } from '../../runtime/services/credentials.ts';
import { serverOf } from '../../runtime/services/images.ts';
import { deleteChild, ensureChild, NotYetError, refOf } from '../../runtime/kube/children.ts';
import { includesDesired } from '../../runtime/kube/covers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { WorkloadIdentity } from './workload.ts';
import { deleteSecret } from './secret-deletion.ts';

/** The user, and the database if any, that the images create at their first start. */
const entries: Readonly<Record<ServerType, ServiceCredentials>> = {
  postgres: { username: 'svc', database: 'svc' },
  mysql: { username: 'svc', database: 'svc' },
  redis: {},
  minio: { accessKey: 'svc', region: 'us-east-1' },
  // Users of MongoDB belong to a database, at which they sign in.
  mongodb: { username: 'svc', database: 'admin' },
};

/** A password that cannot be guessed, without characters that have to be escaped in URLs or shells. */
export function randomPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** The server of a managed service: its password, its address, and a StatefulSet with one pod. */
export function createServer({ kube, makePassword }: { kube: KubeClient; makePassword: () => string }) {
  const ref = ({ apiVersion, kind }: ResourceKind, name: string, namespace: string) =>
    refOf({ apiVersion, kind, metadata: { name, namespace } });

  /** Created once, because the server only uses it at its first start. */
  const ensureCredentials = async (
    service: Stored<ServiceResource>,
    type: ServerType,
    { name, namespace }: WorkloadIdentity,
  ) => {
    const secretName = credentialsName(name);
    const lost =
      !(await kube.get<Secret>(kinds.Secret, secretName, namespace)) &&
      (await kube.get(kinds.PersistentVolumeClaim, serviceClaimName(name), namespace));
    if (lost) {
      throw new Problem(
        'conflict',
        `The Secret "${secretName}" with the password of the service was deleted, but the data still exists. Restore the Secret from a backup, or delete the service and its data.`,
      );
    }
    const credentials = { ...entries[type], [passwordField(type)]: makePassword() };
    const secret = ownedSecret(service, secretName, credentialsData(credentials));
    await ensureChild<Secret>(kube, service, secret, { keep: (live) => live });
  };

  /** Created once; the server reads it when it starts. */
  const ensureEventsToken = async (service: Stored<ServiceResource>, name: string) => {
    const data = { [eventsTokenField]: Buffer.from(makePassword()).toString('base64') };
    await ensureChild<Secret>(kube, service, ownedSecret(service, eventsTokenName(name), data), {
      keep: (live) => live,
    });
  };

  const podsOf = async ({ id, namespace }: WorkloadIdentity) => {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${idLabel}=${id}` });
    return items;
  };

  return {
    /**
     * @returns its pods
     * @throws Problem `service_not_installed`, `conflict` when its password is missing
     */
    async ensure(
      service: Stored<ServiceResource>,
      identity: WorkloadIdentity,
      config: PlatformConfigSpec,
    ): Promise<readonly Stored<Pod>[]> {
      const { id, name, namespace } = identity;
      const { storage } = service.spec;
      const readySeconds = probePace(config.profile).storeReady;
      const server = serverOf(service.spec.type, config);
      const input: ServiceManifestInput = { id, name, namespace, storage, readySeconds, ...server };
      await ensureCredentials(service, server.type, identity);
      if (server.type === 'minio') await ensureEventsToken(service, name);
      await ensureChild(kube, service, serviceAddress(input));
      const live = await kube.get<ServiceStatefulSet>(kinds.StatefulSet, name, namespace);
      await ensureChild<ServiceStatefulSet>(kube, service, desiredServer(input, live), { keep: sameClaims });
      return podsOf(identity);
    },

    /**
     * Deletes the server, then its data, and the password last, so that after an interruption the rest remains
     * accessible.
     * @throws NotYetError until all of it is deleted
     */
    async remove(service: Stored<ServiceResource>, identity: WorkloadIdentity): Promise<void> {
      const { name, namespace } = identity;
      const stopped = await deleteChild(kube, service, ref(kinds.StatefulSet, name, namespace));
      if (!stopped || (await podsOf(identity)).length > 0) throw new NotYetError('the server is still being stopped');
      if (!(await deleteData(identity))) throw new NotYetError('the data is still being deleted');
      await deleteChild(kube, service, ref(kinds.Service, name, namespace));
      if (service.spec.type === 'minio') await deleteSecret(kube, service, eventsTokenName(name), namespace);
    },
  };

  /**
   * A claim has no owner, so that it is found by the label from its template.
   * @returns whether it is deleted
   */
  async function deleteData({ id, name, namespace }: WorkloadIdentity): Promise<boolean> {
    const claim = serviceClaimName(name);
    const live = await kube.get(kinds.PersistentVolumeClaim, claim, namespace);
    if (live?.metadata.labels?.[idLabel] !== id) return true;
    return deleteChild(kube, undefined, ref(kinds.PersistentVolumeClaim, claim, namespace));
  }
}

/**
 * The server's StatefulSet. Adding the setting `logsOnError` would restart a server of an earlier release, so that one
 * gets it with the next change that restarts it anyway.
 */
function desiredServer(input: ServiceManifestInput, live: Stored<ServiceStatefulSet> | undefined): ServiceStatefulSet {
  const before = serviceStatefulSet({ ...input, logsOnError: false });
  const policy = live?.spec.template.spec?.containers[0]?.terminationMessagePolicy;
  const isOld = live !== undefined && policy !== 'FallbackToLogsOnError';
  return isOld && includesDesired(live.spec.template, before.spec.template) ? before : serviceStatefulSet(input);
}

/** Keeps the live claims: the API server adds defaults, and rejects any change. */
function sameClaims(live: Stored<ServiceStatefulSet>, desired: ServiceStatefulSet): ServiceStatefulSet {
  return { ...desired, spec: { ...desired.spec, volumeClaimTemplates: live.spec.volumeClaimTemplates } };
}
