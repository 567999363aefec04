import { createHash } from 'node:crypto';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionRuntime, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { workloadLabels } from '../../runtime/domain/labels.ts';
import {
  dependencyManifest,
  dependencyParts,
  hasDependencies,
  type Dependent,
  type PackageRegistries,
} from './function-dependencies.ts';
import { containerSecurity } from './platform/pod.ts';
import { partLabel, workloadOf, type FunctionIdentity } from './function-identity.ts';

/** The name of the container that runs the code. */
export const functionContainer = 'function';

const codeDirectory = '/var/run/svc/code';
const codeFiles: Readonly<Record<FunctionRuntime, string>> = { node: 'handler.js', python: 'handler.py' };
/** The user of the runtime images (infra/images). */
const runtimeUser = 10_001;
const graceSeconds = 30;

export interface CodeConfigMap extends KubeObject {
  immutable: true;
  data: Record<string, string>;
}

/** What a pod of a function runs with, beside its code. */
export interface RunWith {
  /** The runtime's image. */
  image: string;
  /** Where dependencies come from; default the public registries. */
  registries?: PackageRegistries | undefined;
}

/** The code of a function, what it depends on, and what runs it. */
export type FunctionCode = Pick<FunctionSpec, 'code' | 'runtime' | 'dependencies'>;

/** The ConfigMap's name carries a digest of the code, so that new code is a new object and a running pod keeps its own. */
export function codeConfigMapName(name: string, { code, runtime, dependencies = [] }: FunctionCode): string {
  const hash = createHash('sha256');
  // The file in it is named by the runtime.
  if (runtime !== 'node') hash.update(`${runtime}\0`);
  if (dependencies.length > 0) hash.update(`${JSON.stringify(dependencies)}\0`);
  return `function-${name}-code-${hash.update(code).digest('hex').slice(0, 12)}`;
}

/** The function's source text, and the manifest of what it depends on; immutable, so that the kubelet need not watch it. Pure. */
export function codeConfigMap(identity: FunctionIdentity, spec: FunctionCode): CodeConfigMap {
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

/**
 * The spec of a pod that runs the function's code: the same for requests, scheduled runs and test runs but for what is
 * given. Pure.
 */
export function functionPod(
  identity: FunctionIdentity,
  spec: FunctionCode,
  { image, registries, env, container }: RunWith & { env: readonly object[]; container?: Record<string, unknown> },
): Record<string, unknown> {
  const dependent: Dependent = { ...spec, image };
  const dependencies = dependencyParts(identity, dependent, { codeDirectory, registries });
  return {
    ...dependencies.pod,
    // User code gets neither the Kubernetes API nor a list of the namespace's Services.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: runtimeUser,
      runAsGroup: runtimeUser,
      // What a claim holds is this group's, whoever made its folder.
      ...(hasDependencies(spec) && { fsGroup: runtimeUser, fsGroupChangePolicy: 'OnRootMismatch' }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: functionContainer,
        image,
        env: [
          ...env,
          ...dependencies.env,
          { name: 'SVC_CODE_FILE', value: `${codeDirectory}/${codeFiles[spec.runtime]}` },
        ],
        ...container,
        // The end of the log becomes the pod's own status, so that nobody needs the right to read logs.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        resources: { requests: { cpu: '20m', memory: '48Mi' }, limits: { memory: '256Mi' } },
        securityContext: containerSecurity,
        volumeMounts: [
          { name: 'code', mountPath: codeDirectory, readOnly: true },
          { name: 'tmp', mountPath: '/tmp' },
          ...dependencies.volumeMounts,
        ],
      },
    ],
    volumes: [
      { name: 'code', configMap: { name: codeConfigMapName(identity.name, spec) } },
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
      ...dependencies.volumes,
    ],
  };
}
