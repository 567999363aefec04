import { createHash } from 'node:crypto';
import type { V1Container, V1EnvVar, V1PodSpec, V1Volume } from '@kubernetes/client-node';
import type { Json } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionRuntime } from '../../runtime/contracts/resources/function.ts';
import { warmPort } from '../../runtime/contracts/warm-start.ts';
import { kindLabel, managedLabels, warmLabel } from '../../runtime/domain/labels.ts';
import type { WorkloadKind } from '../../runtime/domain/names.ts';
import { codeDirectory, codeVolume } from './function-pod.ts';
import type { FunctionDeployment, FunctionTemplate } from './function.ts';

const commands: Readonly<Record<FunctionRuntime, readonly string[]>> = {
  // Node warns that it can replace its process only since recently.
  node: ['tini', '--', 'node', '--disable-warning=ExperimentalWarning', '/runtime/warm.mjs'],
  python: ['tini', '--', 'python3', '/runtime/warm.py'],
};

/** The code of a function is smaller. */
const codeSize = '2Mi';

/** The Secret of an environment with the token that starts functions in its generic pods. */
export const warmSecretName = 'svc-warm';

/** The spec of pods that can become pods of a function. */
export interface WarmTemplate {
  /** Templates with the same digest are the same. */
  digest: string;
  spec: Json<V1PodSpec>;
}

/** The objects with what a pod of a template has in addition to {@link WarmTemplate}. */
export interface WarmSources {
  /** The ConfigMap with the code. */
  code: string;
  /** The Secret with variables, if any. */
  envSecret: string | undefined;
  /** Variables that replace those of the Secret. */
  env: Record<string, string>;
}

/** The parts of a template that only runs code. */
interface CodeTemplate {
  spec: Json<V1PodSpec>;
  container: V1Container;
  code: string;
}

/**
 * The template of generic pods for a function's template: the same pod without code and variables, in which a program
 * waits for them. Undefined for a template with more than code, such as volumes or a sidecar, whose pods start cold. Pure.
 */
export function warmTemplate(template: FunctionTemplate, runtime: FunctionRuntime): WarmTemplate | undefined {
  const parts = codeTemplate(template);
  if (!parts) return undefined;
  const { spec, container } = parts;
  const { env: _, envFrom: __, ...rest } = container;
  const waiting: V1Container = {
    ...rest,
    command: [...commands[runtime]],
    volumeMounts: (container.volumeMounts ?? []).map((mount) =>
      mount.name === codeVolume ? { name: codeVolume, mountPath: codeDirectory } : mount,
    ),
  };
  const volumes = (spec.volumes as Json<V1Volume>[]).map((volume) =>
    volume.name === codeVolume ? { name: codeVolume, emptyDir: { sizeLimit: codeSize } } : volume,
  );
  const warm = { ...spec, containers: [waiting], volumes } as Json<V1PodSpec>;
  return { digest: createHash('sha256').update(JSON.stringify(warm)).digest('hex').slice(0, 12), spec: warm };
}

/** What a generic pod has to be given to become a pod of this template; undefined for one without {@link warmTemplate}. Pure. */
export function warmSources(template: FunctionTemplate): WarmSources | undefined {
  const parts = codeTemplate(template);
  if (!parts) return undefined;
  const { code, container } = parts;
  return {
    code,
    envSecret: container.envFrom?.[0]?.secretRef?.name,
    env: Object.fromEntries((container.env ?? []).map(({ name, value = '' }) => [name, value])),
  };
}

/** The parts of a template, if a generic pod can be given all of them. */
function codeTemplate({ spec }: FunctionTemplate): CodeTemplate | undefined {
  const { containers, initContainers = [], volumes = [] } = spec as unknown as V1PodSpec;
  const [container, ...sidecars] = containers;
  if (!container || sidecars.length > 0 || initContainers.length > 0 || container.command !== undefined)
    return undefined;
  const { env = [], envFrom = [], ports } = container;
  const code = volumes.find(({ name }) => name === codeVolume)?.configMap?.name;
  const hasOthers = volumes.some(({ name, emptyDir }) => name !== codeVolume && emptyDir === undefined);
  const isPlain = env.every(isText) && envFrom.length <= 1 && envFrom.every(({ secretRef }) => secretRef !== undefined);
  const isListening = ports?.[0] !== undefined && ports[0].containerPort !== warmPort;
  if (code === undefined || hasOthers || !isPlain || !isListening) return undefined;
  return { spec, container, code };
}

/** Whether a variable has a value without references, which the kubelet would resolve. */
function isText({ valueFrom, value = '' }: V1EnvVar): boolean {
  return valueFrom === undefined && !value.includes('$(');
}

/** The name of a pool. */
export function warmPoolName(digest: string): string {
  return `svc-warm-${digest}`;
}

/**
 * The pool of generic pods in an environment. They have the label by which policies select pods of functions, and none of
 * a workload. Pure.
 * @param options.tokenDigest the SHA-256 digest of the environment's token, in hexadecimal digits
 */
export function warmPool(
  namespace: string,
  { digest, spec }: WarmTemplate,
  { replicas, tokenDigest }: { replicas: number; tokenDigest: string },
): FunctionDeployment {
  const [container, ...others] = (spec as unknown as V1PodSpec).containers;
  const env: V1EnvVar[] = [
    { name: 'SVC_WARM_POD', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
    { name: 'SVC_WARM_PORT', value: String(warmPort) },
    { name: 'SVC_WARM_FOLDER', value: codeDirectory },
    { name: 'SVC_WARM_TOKEN_DIGEST', value: tokenDigest },
  ];
  const labels = { ...managedLabels(), [warmLabel]: digest };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: warmPoolName(digest), namespace, labels },
    spec: {
      replicas,
      revisionHistoryLimit: 1,
      selector: { matchLabels: { [warmLabel]: digest } },
      // Generic pods are never ready, and a rolling update would wait for the new ones until they are.
      strategy: { type: 'Recreate' },
      template: {
        metadata: { labels: { ...labels, [kindLabel]: 'Function' satisfies WorkloadKind } },
        spec: { ...spec, containers: [Object.assign({}, container, { env }), ...others] },
      },
    },
  };
}
