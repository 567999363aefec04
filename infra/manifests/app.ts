import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { AppSpec, Release } from '../../runtime/contracts/resources/app.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { podLabels, releaseAnnotation, servingSelector, workloadLabels } from '../../runtime/domain/labels.ts';
import { servingResources } from './resources.ts';
import { mountedVolumes } from './volume.ts';

/** Everything that an app's objects are made of. */
export interface AppManifestInput {
  id: Id;
  name: string;
  namespace: string;
  spec: Pick<AppSpec, 'port' | 'replicas' | 'healthPath' | 'cpu' | 'memory' | 'volumes'>;
  release: Release;
  /** Whether it mounts a volume that only one pod at a time may have: then an old pod goes before the new one comes. */
  exclusive?: boolean;
}

/** Seconds without progress after which a rollout has failed. */
export const progressDeadlineSeconds = 120;
/**
 * Seconds that a pod of a new release serves on after it is told to go: endpoints and the ingress hear of it and of its
 * successor meanwhile. That takes 2 s mostly, and longer where there is no processor time (decision 0027).
 */
export const lingerSeconds = 10;
/** Of releases that say nothing of it, and where the next pod comes only once this one is gone. */
const shortLingerSeconds = 3;
/** What a container has to end after that, in seconds. */
const endingSeconds = 27;
/** The ingress's names in the container and Service. */
const portName = 'http';

function metadata({ id, name, namespace }: AppManifestInput, objectName = name): ObjectMeta {
  return { name: objectName, namespace, labels: workloadLabels({ kind: 'App', name, id }) };
}

/** The pods, of one release at a time; an older one serves until as many newer pods are ready. Pure. */
export function appDeployment(input: AppManifestInput): KubeObject {
  const { id, name, spec, release, exclusive = false } = input;
  const workload = { kind: 'App' as const, name, id };
  const { volumes } = mountedVolumes(spec.volumes);
  const linger = (exclusive ? undefined : release.lingerSeconds) ?? shortLingerSeconds;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata(input),
    spec: {
      replicas: spec.replicas,
      revisionHistoryLimit: 2,
      progressDeadlineSeconds,
      strategy: exclusive
        ? { type: 'Recreate' }
        : { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: servingSelector(workload) },
      template: {
        metadata: {
          labels: podLabels(workload, 'serve'),
          // New with every release, so that the same image deployed again still makes new pods.
          annotations: { [releaseAnnotation]: String(release.generation) },
        },
        spec: {
          automountServiceAccountToken: false,
          // Variables of every Service in the namespace would change what a pod sees by who lives beside it.
          enableServiceLinks: false,
          terminationGracePeriodSeconds: linger + endingSeconds,
          // Ordinary images run as root and change user themselves: an environment enforces `baseline`, not `restricted`.
          securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
          containers: [appContainer(input, linger)],
          ...(volumes.length > 0 && { volumes }),
        },
      },
    },
  };
}

function appContainer({ spec, release }: AppManifestInput, linger: number): object {
  const { volumeMounts } = mountedVolumes(spec.volumes);
  return {
    name: 'app',
    image: releaseImage(release),
    ports: [{ name: portName, containerPort: spec.port, protocol: 'TCP' }],
    env: [{ name: 'PORT', value: String(spec.port) }],
    ...(release.envSecret !== undefined && { envFrom: [{ secretRef: { name: release.envSecret } }] }),
    // Without limits the environment's defaults hold.
    resources: servingResources(spec, { cpu: '20m', memory: '64Mi' }),
    readinessProbe: {
      ...(spec.healthPath === undefined
        ? { tcpSocket: { port: portName } }
        : { httpGet: { path: spec.healthPath, port: portName } }),
      periodSeconds: 2,
      timeoutSeconds: 2,
      failureThreshold: 3,
    },
    lifecycle: { preStop: { sleep: { seconds: linger } } },
    // With the crash's last lines in the pod's status, a failed rollout can say why.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: { allowPrivilegeEscalation: false },
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
}

/** A tag can be moved, a digest cannot: where the release knows it, exactly that image runs. */
export function releaseImage({ image, digest }: Pick<Release, 'image' | 'digest'>): string {
  return digest === undefined || image.includes('@') ? image : `${image}@${digest}`;
}

/** The address inside the cluster, port 80. It has no gate (spec.md §4.1). Pure. */
export function appService(input: AppManifestInput): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(input),
    spec: {
      selector: servingSelector({ kind: 'App', name: input.name }),
      ports: [{ name: portName, port: 80, targetPort: portName, protocol: 'TCP' }],
    },
  };
}
