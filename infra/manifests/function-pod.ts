import { createHash } from 'node:crypto';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionRuntime, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { apiGroup, workloadLabels } from '../../runtime/domain/labels.ts';

/** What a child is, where a function has several of one kind. */
export const partLabel = `${apiGroup}/part`;
/** The name of the container that runs the code. */
export const functionContainer = 'function';

const codeDirectory = '/var/run/svc/code';
const codeFiles: Readonly<Record<FunctionRuntime, string>> = { node: 'handler.js', python: 'handler.py' };
/** The user of the runtime images (infra/images). */
const runtimeUser = 10_001;
const graceSeconds = 30;

/** What the builders need of a function. */
export interface FunctionIdentity {
  id: Id;
  name: string;
  namespace: string;
}

export interface CodeConfigMap extends KubeObject {
  immutable: true;
  data: Record<string, string>;
}

/** A function as labels name it. Pure. */
export function workloadOf({ id, name }: FunctionIdentity) {
  return { kind: 'Function' as const, id, name };
}

/** The code of a function, and what runs it. */
export type FunctionCode = Pick<FunctionSpec, 'code' | 'runtime'>;

/** The ConfigMap's name carries a digest of the code, so that new code is a new object and a running pod keeps its own. */
export function codeConfigMapName(name: string, { code, runtime }: FunctionCode): string {
  const hash = createHash('sha256');
  // The file in it is named by the runtime.
  if (runtime !== 'node') hash.update(`${runtime}\0`);
  return `function-${name}-code-${hash.update(code).digest('hex').slice(0, 12)}`;
}

/** The function's source text; immutable, so that the kubelet need not watch it. Pure. */
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
    data: { [codeFiles[spec.runtime]]: spec.code },
  };
}

/**
 * The spec of a pod that runs the function's code: the same for requests, scheduled runs and test runs but for what is
 * given. Pure.
 */
export function functionPod(
  name: string,
  spec: FunctionCode,
  { image, env, container }: { image: string; env: readonly object[]; container?: Record<string, unknown> },
): Record<string, unknown> {
  return {
    // User code gets neither the Kubernetes API nor a list of the namespace's Services.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: runtimeUser,
      runAsGroup: runtimeUser,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: functionContainer,
        image,
        env: [...env, { name: 'SVC_CODE_FILE', value: `${codeDirectory}/${codeFiles[spec.runtime]}` }],
        ...container,
        // The end of the log becomes the pod's own status, so that nobody needs the right to read logs.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        resources: { requests: { cpu: '20m', memory: '48Mi' }, limits: { memory: '256Mi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [
          { name: 'code', mountPath: codeDirectory, readOnly: true },
          { name: 'tmp', mountPath: '/tmp' },
        ],
      },
    ],
    volumes: [
      { name: 'code', configMap: { name: codeConfigMapName(name, spec) } },
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    ],
  };
}
