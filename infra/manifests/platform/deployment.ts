import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';
import {
  containerSecurity,
  podSecurity,
  resources,
  secretMounts,
  secretVolumes,
  type ProbePace,
  type VolumeMount,
} from './pod.ts';
import type { PlatformProcess } from './processes.ts';

/** Longer than a process needs to drain (25 s at most, `runtime/host/lifecycle.ts`). */
const terminationGracePeriodSeconds = 40;
const temporary: VolumeMount = { name: 'tmp', mountPath: '/tmp' };

/** The Deployment of one process of the platform. Pure. */
export function processDeployment(platformProcess: PlatformProcess, image: string): Manifest {
  const { name, replicas } = platformProcess;
  const labels = componentLabels(name);
  return systemObject(
    kinds.Deployment,
    name,
    {
      spec: {
        replicas,
        selector: { matchLabels: labels },
        strategy: { type: 'RollingUpdate', rollingUpdate: update(platformProcess) },
        template: {
          metadata: { labels: { ...managedLabels(), ...labels } },
          spec: podSpec(platformProcess, image),
        },
      },
    },
    labels,
  );
}

/** Who serves is replaced without a gap; who holds a Lease goes first, since the new one would only wait for it. */
function update({ serves }: PlatformProcess): object {
  return serves ? { maxUnavailable: 0, maxSurge: 1 } : { maxUnavailable: 1, maxSurge: 0 };
}

function podSpec(platformProcess: PlatformProcess, image: string): object {
  const { name, main, args, before, replicas, kubernetes, secrets, failpoints, probes: pace } = platformProcess;
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
    // The names of all Services as variables would only slow the start.
    enableServiceLinks: false,
    terminationGracePeriodSeconds,
    securityContext: podSecurity(),
    ...(before && {
      initContainers: [{ name: before.name, ...container, command: command(before.main) }],
    }),
    containers: [{ name, ...container, command: command(main, args), ports: ports(platformProcess), ...probes(pace) }],
    volumes: [
      { name: temporary.name, emptyDir: {} },
      ...secretVolumes(secrets),
      ...(failpoints === undefined ? [] : [{ name: 'failpoints', emptyDir: {} }]),
    ],
    ...(replicas > 1 && { topologySpreadConstraints: [spread(name)] }),
  };
}

/** PID 1 does not feel every signal; tini is there for that (infra/images/platform). */
function command(main: string, args: readonly string[] = []): string[] {
  return ['tini', '--', 'node', main, ...args];
}

function ofPod(name: string, fieldPath: string): object {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

function environment({ env, failpoints }: PlatformProcess): object[] {
  return [
    ofPod('POD_NAME', 'metadata.name'),
    ofPod('POD_NAMESPACE', 'metadata.namespace'),
    ofPod('POD_IP', 'status.podIP'),
    ...Object.entries(env).map(([name, value]) => ({ name, value })),
    ...(failpoints === undefined ? [] : [{ name: 'SVC_FAILPOINTS_DIR', value: failpoints }]),
  ];
}

function ports({ serves, ports: more = {} }: PlatformProcess): object[] {
  const all = { ...(serves && { http: 8080 }), admin: 8081, ...more };
  return Object.entries(all).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' }));
}

const health = { path: '/health', port: 'admin' };

function probes({ ready, alive }: ProbePace): object {
  return {
    // A minute to come up on a busy machine, before the liveness probe begins to count.
    startupProbe: { httpGet: health, periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: {
      httpGet: health,
      periodSeconds: alive,
      timeoutSeconds: 5,
      failureThreshold: 3,
      // Whoever hangs has nothing to drain, and the ingress waits for a checker that hangs as long as it lives.
      terminationGracePeriodSeconds: 5,
    },
    readinessProbe: { httpGet: { path: '/ready', port: 'admin' }, periodSeconds: ready, timeoutSeconds: 2 },
  };
}

/** Two replicas on one node would both go with it; on a cluster of one node they still run. */
function spread(name: string): object {
  return {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: componentLabels(name) },
  };
}
