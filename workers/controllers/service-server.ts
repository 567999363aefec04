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
import { ownedSecret, type Secret } from '../../runtime/host/owned-secret.ts';
import { credentialsData } from '../../runtime/host/service-credentials.ts';
import { serverOf } from '../../runtime/host/service-images.ts';
import { deleteChild, ensureChild, NotYetError, refOf } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { WorkloadIdentity } from './workload.ts';

/** The user, and the database where there are any, that the images make at their first start. */
const entries: Readonly<Record<ServerType, ServiceCredentials>> = {
  postgres: { username: 'svc', database: 'svc' },
  mysql: { username: 'svc', database: 'svc' },
  redis: {},
  minio: { accessKey: 'svc', region: 'us-east-1' },
  // Users of MongoDB belong to a database: the one that they sign in at.
  mongodb: { username: 'svc', database: 'admin' },
};

/** Long enough that nobody guesses it, and without a character that a URL or a shell would change. */
export function randomPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** The server of a service that the platform runs: its password, its address, and a StatefulSet of one pod. */
export function createServer({ kube, makePassword }: { kube: KubeClient; makePassword: () => string }) {
  const ref = ({ apiVersion, kind }: ResourceKind, name: string, namespace: string) =>
    refOf({ apiVersion, kind, metadata: { name, namespace } });

  /** Made once, since the server takes it over with its first start only. */
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
        `The Secret "${secretName}" with the password is gone, and its data is still there: bring the Secret back from a backup, or delete the service with its data.`,
      );
    }
    const credentials = { ...entries[type], [passwordField(type)]: makePassword() };
    const secret = ownedSecret(service, secretName, credentialsData(credentials));
    await ensureChild<Secret>(kube, service, secret, { keep: (live) => live });
  };

  /** Made once; the server reads it at its start. */
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
    /** @returns its pods @throws Problem `service_not_installed`, `conflict` when its password is lost */
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
      await ensureChild<ServiceStatefulSet>(kube, service, serviceStatefulSet(input), { keep: sameClaims });
      return podsOf(identity);
    },

    /**
     * First the server goes, then its data, and its password last: whatever cuts this off, what is left can still be
     * entered. @throws NotYetError until all of it is gone
     */
    async remove(service: Stored<ServiceResource>, identity: WorkloadIdentity): Promise<void> {
      const { name, namespace } = identity;
      const stopped = await deleteChild(kube, service, ref(kinds.StatefulSet, name, namespace));
      if (!stopped || (await podsOf(identity)).length > 0) throw new NotYetError('the server is still being stopped');
      if (!(await deleteData(identity))) throw new NotYetError('the data is still being deleted');
      await deleteChild(kube, service, ref(kinds.Service, name, namespace));
      if (service.spec.type === 'minio')
        await deleteChild(kube, service, ref(kinds.Secret, eventsTokenName(name), namespace));
    },
  };

  /** A claim belongs to nobody, and so is known by the label that its template gave it. @returns whether it is gone */
  async function deleteData({ id, name, namespace }: WorkloadIdentity): Promise<boolean> {
    const claim = serviceClaimName(name);
    const live = await kube.get(kinds.PersistentVolumeClaim, claim, namespace);
    if (live?.metadata.labels?.[idLabel] !== id) return true;
    return deleteChild(kube, undefined, ref(kinds.PersistentVolumeClaim, claim, namespace));
  }
}

/** The API server fills in defaults, and refuses any change. */
function sameClaims(live: Stored<ServiceStatefulSet>, desired: ServiceStatefulSet): ServiceStatefulSet {
  return { ...desired, spec: { ...desired.spec, volumeClaimTemplates: live.spec.volumeClaimTemplates } };
}
