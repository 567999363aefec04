import { createHash } from 'node:crypto';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
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
import type { PackageRegistries } from './package-registries.ts';
import type { EventSidecar } from './event-sidecar.ts';
import { containerSecurity } from './platform/pod.ts';
import { partLabel, workloadOf, type FunctionIdentity } from './function-identity.ts';
import { servingResources, type ContainerLimits } from './resources.ts';
import { mountedVolumes } from './volume.ts';

/** The name of the container that runs the code. */
export const functionContainer = 'function';

const codeDirectory = '/var/run/svc/code';
const codeFiles: Readonly<Record<FunctionRuntime, string>> = { node: 'handler.js', python: 'handler.py' };
/** The user of the runtime images (infra/images), and the one that any other image has to be content with. */
const runtimeUser = 10_001;
const graceSeconds = 30;

export interface CodeConfigMap extends KubeObject {
  immutable: true;
  data: Record<string, string>;
}

/** What a pod of a function runs with, beside its code. */
export interface RunWith {
  /** The runtime's image, or the function's own. */
  image: string;
  /** Where dependencies come from; default the public registries. */
  registries?: PackageRegistries | undefined;
  /** The Node runtime's image, which has the program that gets events; default {@link image}. */
  eventImage?: string;
  /** The immutable Secret with its environment. */
  envSecret?: string | undefined;
}

/** What runs in a pod, and what it may use. */
export type FunctionWorkload = FunctionSource & Pick<FunctionSpec, 'volumes' | 'cpu' | 'memory'>;

/** The ConfigMap's name carries a digest of the code, so that new code is a new object and a running pod keeps its own. */
export function codeConfigMapName(name: string, { code, runtime, dependencies = [] }: InlineCode): string {
  const hash = createHash('sha256');
  // The file in it is named by the runtime.
  if (runtime !== 'node') hash.update(`${runtime}\0`);
  if (dependencies.length > 0) hash.update(`${JSON.stringify(dependencies)}\0`);
  return `function-${name}-code-${hash.update(code).digest('hex').slice(0, 12)}`;
}

/** The function's source text, and the manifest of what it depends on; immutable, so that the kubelet need not watch it. Pure. */
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
function codeParts(identity: FunctionIdentity, code: InlineCode, { image, registries }: RunWith): DependencyParts {
  const parts = dependencyParts(identity, { ...code, image }, { codeDirectory, registries });
  return {
    pod: parts.pod,
    env: [...parts.env, { name: 'SVC_CODE_FILE', value: `${codeDirectory}/${codeFiles[code.runtime]}` }],
    volumeMounts: [{ name: 'code', mountPath: codeDirectory, readOnly: true }, ...parts.volumeMounts],
    volumes: [{ name: 'code', configMap: { name: codeConfigMapName(identity.name, code) } }, ...parts.volumes],
  };
}

const noParts: DependencyParts = { pod: {}, env: [], volumeMounts: [], volumes: [] };

/**
 * The spec of a pod that runs the function's code or image: the same for requests, scheduled runs and test runs but for
 * what is given. Pure.
 */
export function functionPod(
  identity: FunctionIdentity,
  spec: FunctionWorkload,
  {
    env,
    container,
    sidecar,
    ...runWith
  }: RunWith & { env: readonly object[]; container?: Record<string, unknown>; sidecar?: EventSidecar | undefined },
): Record<string, unknown> {
  const code = inlineCode(spec);
  const parts = code ? codeParts(identity, code, runWith) : noParts;
  const { image, envSecret } = runWith;
  const mounted = mountedVolumes(spec.volumes);
  const hasClaims = mounted.volumes.length > 0 || (code !== undefined && hasDependencies(code));
  return {
    ...parts.pod,
    // User code gets neither the Kubernetes API nor a list of the namespace's Services.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: runtimeUser,
      runAsGroup: runtimeUser,
      // What a claim holds is this group's, whoever made its folder.
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
        // The end of the log becomes the pod's own status, so that nobody needs the right to read logs.
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

function functionResources({ cpu, memory }: ContainerLimits): object {
  const { requests, limits } = servingResources({ cpu, memory }, { cpu: '20m', memory: '48Mi' });
  return { requests, limits: { memory: functionMemory, ...limits } };
}
