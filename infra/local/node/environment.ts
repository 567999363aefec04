import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Container, EnvVar, NodePod } from './pod-spec.ts';

/**
 * A container's configuration refers to something that does not exist yet or is not supported. The container waits with
 * `CreateContainerConfigError`.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The entries of a Secret or ConfigMap as bytes. @throws ConfigError when it does not exist */
export async function dataOf(
  kube: Pick<KubeClient, 'get'>,
  kind: ResourceKind,
  name: string,
  namespace: string | undefined,
): Promise<Map<string, Buffer>> {
  const object = await kube.get<KubeObject & { data?: Record<string, string> }>(kind, name, namespace);
  if (!object) throw new ConfigError(`${kind.kind.toLowerCase()} "${name}" not found`);
  const encoding = kind === kinds.Secret ? 'base64' : 'utf8';
  return new Map(Object.entries(object.data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]));
}

/**
 * Resolves a container's variables in Kubernetes' order: `envFrom`, then `env`, with `$(NAME)` replaced by earlier
 * variables. @throws ConfigError when a Secret, ConfigMap or key does not exist
 */
export async function resolveEnvironment(
  kube: Pick<KubeClient, 'get'>,
  pod: NodePod,
  container: Container,
  address: string,
): Promise<Record<string, string>> {
  const { namespace } = pod.metadata;
  const variables = new Map<string, string>();
  for (const { secretRef, configMapRef } of container.envFrom ?? []) {
    const kind = secretRef ? kinds.Secret : kinds.ConfigMap;
    const data = await dataOf(kube, kind, (secretRef ?? configMapRef)?.name ?? '', namespace);
    for (const [key, value] of data) variables.set(key, value.toString('utf8'));
  }
  for (const variable of container.env ?? []) {
    const value = await resolveValue(kube, pod, variable, address);
    variables.set(variable.name, expand(value, Object.fromEntries(variables)));
  }
  return Object.fromEntries(variables);
}

async function resolveValue(
  kube: Pick<KubeClient, 'get'>,
  pod: NodePod,
  { value = '', valueFrom }: EnvVar,
  address: string,
): Promise<string> {
  if (!valueFrom) return value;
  const { secretKeyRef, configMapKeyRef, fieldRef } = valueFrom;
  const { name, namespace, labels = {} } = pod.metadata;
  const source = secretKeyRef ?? configMapKeyRef;
  if (!source) {
    const fields = new Map([
      ['metadata.name', name],
      ['metadata.namespace', namespace],
      ['status.podIP', address],
      ...Object.entries(labels).map(([label, text]) => [`metadata.labels['${label}']`, text] as const),
    ]);
    const field = fields.get(fieldRef?.fieldPath ?? '');
    if (field === undefined) throw new ConfigError(`"${JSON.stringify(valueFrom)}" is not supported`);
    return field;
  }
  const kind = secretKeyRef ? kinds.Secret : kinds.ConfigMap;
  const data = (await dataOf(kube, kind, source.name, namespace)).get(source.key);
  if (!data) throw new ConfigError(`couldn't find key ${source.key} in ${kind.kind} ${namespace}/${source.name}`);
  return data.toString('utf8');
}

/** Replaces `$(NAME)` of known variables; `$$(NAME)` is the text `$(NAME)`. Pure. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([^()]+)\)/g, (reference, name?: string) => {
    if (name === undefined) return '$';
    return Object.hasOwn(variables, name) ? (variables[name] ?? reference) : reference;
  });
}
