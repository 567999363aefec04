import type {
  V1Container,
  V1ContainerPort,
  V1Deployment,
  V1EnvVar,
  V1PodSpec,
  V1RollingUpdateDeployment,
  V1TopologySpreadConstraint,
  V1VolumeMount,
} from '@kubernetes/client-node';
import type { Json } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';
import { containerSecurity, podSecurity, resources, secretMounts, secretVolumes, type ProbePace } from './pod.ts';
import type { PlatformProcess } from './processes.ts';

/** Longer than a process takes to drain (at most 25 s, `runtime/process/lifecycle.ts`). */
const terminationGracePeriodSeconds = 40;
const temporary: V1VolumeMount = { name: 'tmp', mountPath: '/tmp' };

/** The Deployment object of a process of the platform. Pure. */
export function processDeployment(platformProcess: PlatformProcess, image: string): Manifest {
  const { name, replicas } = platformProcess;
  const labels = componentLabels(name);
  return systemObject<V1Deployment>(
    kinds.Deployment,
    name,
    {
      spec: {
        replicas,
        selector: { matchLabels: labels },
        strategy: { type: 'RollingUpdate', rollingUpdate: rollingUpdate(platformProcess) },
        template: { metadata: { labels: { ...managedLabels(), ...labels } }, spec: podSpec(platformProcess, image) },
      },
    },
    labels,
  );
}

/** A server is replaced without a gap. Another process stops first: its successor could only wait for its Lease. */
function rollingUpdate({ serves }: PlatformProcess): V1RollingUpdateDeployment {
  return serves ? { maxUnavailable: 0, maxSurge: 1 } : { maxUnavailable: 1, maxSurge: 0 };
}

function podSpec(platformProcess: PlatformProcess, image: string): Json<V1PodSpec> {
  const { name, before, replicas, kubernetes, secrets, failpoints, probes: pace } = platformProcess;
  const container = {
    image,
    env: environment(platformProcess),
    securityContext: containerSecurity,
    volumeMounts: [
      temporary,
      ...secretMounts(secrets),
      ...(failpoints === undefined ? [] : [{ name: 'failpoints', mountPath: failpoints }]),
    ],
    resources: resources(
      { cpu: platformProcess.size.cpu, memory: platformProcess.size.memory },
      platformProcess.size.memoryLimit,
    ),
  };
  return {
    serviceAccountName: name,
    automountServiceAccountToken: kubernetes,
    // Variables for all Services would slow down the start.
    enableServiceLinks: false,
    terminationGracePeriodSeconds,
    securityContext: podSecurity(),
    ...(before && { initContainers: [{ name: before.name, ...container, command: command(before) }] }),
    containers: [
      { name, ...container, command: command(platformProcess), ports: ports(platformProcess), ...probes(pace) },
    ],
    volumes: [
      { name: temporary.name, emptyDir: {} },
      ...secretVolumes(secrets),
      ...(failpoints === undefined ? [] : [{ name: 'failpoints', emptyDir: {} }]),
    ],
    tolerations: lostNodeTolerations,
    ...(replicas > 1 && { topologySpreadConstraints: [spread(name)] }),
  };
}

/** Node as process 1 would ignore some signals, so tini starts it (infra/images/platform). */
function command({ main, options = [], args = [] }: Pick<PlatformProcess, 'main' | 'options' | 'args'>): string[] {
  return ['tini', '--', 'node', ...options, main, ...args];
}

function podField(name: string, fieldPath: string): V1EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

function environment({ env, failpoints }: PlatformProcess): V1EnvVar[] {
  return [
    podField('POD_NAME', 'metadata.name'),
    podField('POD_NAMESPACE', 'metadata.namespace'),
    podField('POD_IP', 'status.podIP'),
    ...Object.entries(env).map(([name, value]) => ({ name, value })),
    ...(failpoints === undefined ? [] : [{ name: 'SVC_FAILPOINTS_DIR', value: failpoints }]),
  ];
}

function ports({ serves, ports: more = {} }: PlatformProcess): V1ContainerPort[] {
  const all = { ...(serves && { http: 8080 }), admin: 8081, ...more };
  return Object.entries(all).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' }));
}

const health = { path: '/health', port: 'admin' };

function probes({ ready, alive }: ProbePace): Pick<V1Container, 'startupProbe' | 'livenessProbe' | 'readinessProbe'> {
  return {
    // A busy machine gets a minute for the start before the liveness probe applies.
    startupProbe: { httpGet: health, periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: {
      httpGet: health,
      periodSeconds: alive,
      timeoutSeconds: 5,
      failureThreshold: 3,
      // A process that hangs cannot drain, and the ingress would wait for a checker that hangs.
      terminationGracePeriodSeconds: 5,
    },
    readinessProbe: { httpGet: { path: '/ready', port: 'admin' }, periodSeconds: ready, timeoutSeconds: 2 },
  };
}

/**
 * By default, Kubernetes replaces the pods of a node that it has lost after five minutes. The platform's processes keep no
 * files, and one of them may be the only controller.
 */
const lostNodeTolerations = ['not-ready', 'unreachable'].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 10,
}));

/**
 * Puts replicas on different nodes where possible, so that losing a node does not stop all of them. The pods that a rollout
 * replaces do not count: otherwise two new ones may be where no old one was.
 */
function spread(name: string): V1TopologySpreadConstraint {
  return {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: componentLabels(name) },
    matchLabelKeys: ['pod-template-hash'],
  };
}
