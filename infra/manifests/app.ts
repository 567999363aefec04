import type { V1Container, V1Deployment, V1Service } from '@kubernetes/client-node';
import type { BuiltIn, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { AppSpec, Release } from '../../runtime/contracts/resources/app.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { podLabels, releaseAnnotation, servingSelector, workloadLabels } from '../../runtime/domain/labels.ts';
import { servingResources } from './resources.ts';
import { mountedVolumes } from './volume.ts';

/** The input of an app's objects. */
export interface AppManifestInput {
  id: Id;
  name: string;
  namespace: string;
  spec: Pick<AppSpec, 'port' | 'replicas' | 'healthPath' | 'cpu' | 'memory' | 'volumes'>;
  release: Release;
  /** Whether it mounts a volume that only one pod at a time can mount: then the old pod stops before the new one starts. */
  exclusive?: boolean;
}

/** Seconds without progress after which a rollout has failed. */
export const progressDeadlineSeconds = 120;
/**
 * Seconds that a pod keeps serving after its termination starts, while endpoints and the ingress switch to the new pod. That
 * usually takes 2 s, and longer on a busy machine (decision 0027).
 */
export const lingerSeconds = 10;
/** For releases that do not set it, and for apps whose next pod starts only once this one has stopped. */
const shortLingerSeconds = 3;
/** The time that a container has to stop after that, in seconds. */
const endingSeconds = 27;
/** The name of the port in the container and in the Service. */
const portName = 'http';

function metadata({ id, name, namespace }: AppManifestInput, objectName = name): ObjectMeta {
  return { name: objectName, namespace, labels: workloadLabels({ kind: 'App', name, id }) };
}

/** The Deployment object of an app's release. Old pods serve until as many new pods are ready. Pure. */
export function appDeployment(input: AppManifestInput): BuiltIn<V1Deployment, 'spec'> {
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
          // Changes with every release, so that deploying the same image again also makes new pods.
          annotations: { [releaseAnnotation]: String(release.generation) },
        },
        spec: {
          automountServiceAccountToken: false,
          // Otherwise the pod's variables would depend on the other Services of the namespace.
          enableServiceLinks: false,
          terminationGracePeriodSeconds: linger + endingSeconds,
          // Ordinary images start as root and change user themselves, so an environment enforces `baseline`, not `restricted`.
          securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
          containers: [appContainer(input, linger)],
          ...(volumes.length > 0 && { volumes }),
        },
      },
    },
  };
}

function appContainer({ spec, release }: AppManifestInput, linger: number): V1Container {
  const { volumeMounts } = mountedVolumes(spec.volumes);
  return {
    name: 'app',
    image: releaseImage(release),
    ports: [{ name: portName, containerPort: spec.port, protocol: 'TCP' }],
    env: [{ name: 'PORT', value: String(spec.port) }],
    ...(release.envSecret !== undefined && { envFrom: [{ secretRef: { name: release.envSecret } }] }),
    // Without limits, the environment's defaults apply.
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
    // Puts the last log lines into the pod's status, where a failed rollout finds the reason.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: { allowPrivilegeEscalation: false },
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
}

/** The image reference of a release, with its digest when the release has one: a tag can move, a digest cannot. */
export function releaseImage({ image, digest }: Pick<Release, 'image' | 'digest'>): string {
  return digest === undefined || image.includes('@') ? image : `${image}@${digest}`;
}

/** The app's address inside the cluster, on port 80. Requests to it do not pass the gate. Pure. */
export function appService(input: AppManifestInput): BuiltIn<V1Service, 'spec'> {
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
