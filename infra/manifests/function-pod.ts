import { createHash } from 'node:crypto';
import type { V1ConfigMap, V1Container, V1EnvVar, V1PodSpec, V1ResourceRequirements } from '@kubernetes/client-node';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
import {
  functionMemory,
  inlineCode,
  type FunctionRuntime,
  type FunctionSource,
  type FunctionSpec,
  type InlineCode,
} from '../../runtime/contracts/resources/function.ts';
import { workloadLabels } from '../../runtime/domain/labels.ts';
import { dependencyManifest, dependencyParts, hasDependencies, type DependencyParts } from './function-dependencies.ts';
import type { PackageSources } from './package-registries.ts';
import type { EventSidecar } from './event-sidecar.ts';
import { containerSecurity } from './platform/pod.ts';
import { partLabel, workloadOf, type FunctionIdentity } from './function-identity.ts';
import { servingResources, type ContainerLimits } from './resources.ts';
import { mountedVolumes } from './volume.ts';

/** The name of the container that runs the code. */
export const functionContainer = 'function';

/** Where the code is. */
export const codeDirectory = '/var/run/svc/code';
/** The name of the volume with the code. */
export const codeVolume = 'code';
const codeFiles: Readonly<Record<FunctionRuntime, string>> = { node: 'handler.js', python: 'handler.py' };
/** The user of the runtime images (infra/images). Every other image has to work as this user, too. */
const runtimeUser = 10_001;
const graceSeconds = 30;

export type CodeConfigMap = BuiltIn<V1ConfigMap, 'data'>;

/** The input of a function's pod in addition to its code. */
export interface RunWith {
  /** The runtime's image, or the function's own. */
  image: string;
  /** Where its dependencies come from. Default: the public registries. */
  sources?: PackageSources;
  /** The Node runtime's image, which contains the program that fetches events. Default: {@link image}. */
  eventImage?: string;
  /** The name of the immutable Secret with its environment. */
  envSecret?: string | undefined;
}

/** The code or image of a function, with its volumes and limits. */
export type FunctionWorkload = FunctionSource & Pick<FunctionSpec, 'volumes' | 'cpu' | 'memory'>;

/** The ConfigMap's name contains a digest of the code: new code is a new object, and running pods keep theirs. */
export function codeConfigMapName(name: string, { code, runtime, dependencies = [] }: InlineCode): string {
  const hash = createHash('sha256');
  // The runtime decides the file's name.
  if (runtime !== 'node') hash.update(`${runtime}\0`);
  if (dependencies.length > 0) hash.update(`${JSON.stringify(dependencies)}\0`);
  return `function-${name}-code-${hash.update(code).digest('hex').slice(0, 12)}`;
}

/** The function's source text and the manifest of its dependencies. Immutable, so that the kubelet need not watch it. Pure. */
export function codeConfigMap(identity: FunctionIdentity, spec: InlineCode): CodeConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: codeConfigMapName(identity.name, spec),
      namespace: identity.namespace,
      labels: { ...workloadLabels(workloadOf(identity)), [partLabel]: 'code' },
    },
    immutable: true,
    data: { [codeFiles[spec.runtime]]: spec.code, ...dependencyManifest(spec) },
  };
}

/** The parts of a pod that runs inline code. */
function codeParts(identity: FunctionIdentity, code: InlineCode, { image, sources }: RunWith): DependencyParts {
  const parts = dependencyParts(identity, { ...code, image }, { codeDirectory, ...sources });
  return {
    pod: parts.pod,
    env: [...parts.env, { name: 'SVC_CODE_FILE', value: `${codeDirectory}/${codeFiles[code.runtime]}` }],
    volumeMounts: [{ name: codeVolume, mountPath: codeDirectory, readOnly: true }, ...parts.volumeMounts],
    volumes: [{ name: codeVolume, configMap: { name: codeConfigMapName(identity.name, code) } }, ...parts.volumes],
  };
}

const noParts: DependencyParts = { pod: {}, env: [], volumeMounts: [], volumes: [] };

/** The spec of a pod that runs the function's code or image: for requests, scheduled runs and test runs. Pure. */
export function functionPod(
  identity: FunctionIdentity,
  spec: FunctionWorkload,
  {
    env,
    container,
    sidecar,
    ...runWith
  }: RunWith & {
    env: readonly V1EnvVar[];
    /** Further fields of the function's container. */
    container?: Pick<V1Container, 'ports' | 'readinessProbe' | 'lifecycle'>;
    sidecar?: EventSidecar | undefined;
  },
): Json<V1PodSpec> {
  const code = inlineCode(spec);
  const parts = code ? codeParts(identity, code, runWith) : noParts;
  const { image, envSecret } = runWith;
  const mounted = mountedVolumes(spec.volumes);
  const hasClaims = mounted.volumes.length > 0 || (code !== undefined && hasDependencies(code));
  return {
    ...parts.pod,
    // Users' code gets neither a token for the Kubernetes API nor the addresses of the namespace's Services.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: runtimeUser,
      runAsGroup: runtimeUser,
      // Files on a claim belong to this group, no matter which user created them.
      ...(hasClaims && { fsGroup: runtimeUser, fsGroupChangePolicy: 'OnRootMismatch' }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: functionContainer,
        image,
        ...(envSecret !== undefined && { envFrom: [{ secretRef: { name: envSecret } }] }),
        env: [...env, ...parts.env],
        ...container,
        // Puts the end of the log into the pod's status, so that the controllers need no permission to read logs.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        resources: functionResources(spec),
        securityContext: containerSecurity,
        volumeMounts: [...parts.volumeMounts, { name: 'tmp', mountPath: '/tmp' }, ...mounted.volumeMounts],
      },
      ...(sidecar ? [sidecar.container] : []),
    ],
    volumes: [
      ...parts.volumes,
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
      ...(sidecar ? [sidecar.volume] : []),
      ...mounted.volumes,
    ],
  };
}

function functionResources({ cpu, memory }: ContainerLimits): V1ResourceRequirements {
  const { requests, limits } = servingResources({ cpu, memory }, { cpu: '20m', memory: '48Mi' });
  return { requests, limits: { memory: functionMemory, ...limits } };
}
