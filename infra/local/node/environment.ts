import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Container, EnvVar, NodePod } from './pod-spec.ts';

/** A container asks for what is not there (yet), or not supported; it waits with `CreateContainerConfigError`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The entries of a Secret or ConfigMap as bytes. @throws ConfigError */
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
 * The variables that a container's specification gives it, in Kubernetes' order: `envFrom`, `env`, each with `$(NAME)`
 * replaced by what came before it. @throws ConfigError for a Secret, ConfigMap or key that is not there
 */
export async function environmentOf(
  kube: Pick<KubeClient, 'get'>,
  pod: NodePod,
  container: Container,
  address: string,
): Promise<Record<string, string>> {
  const { namespace } = pod.metadata;
  const variables: Record<string, string> = {};
  for (const { secretRef, configMapRef } of container.envFrom ?? []) {
    const kind = secretRef ? kinds.Secret : kinds.ConfigMap;
    const data = await dataOf(kube, kind, (secretRef ?? configMapRef)?.name ?? '', namespace);
    for (const [key, value] of data) variables[key] = value.toString('utf8');
  }
  for (const variable of container.env ?? []) {
    variables[variable.name] = expand(await valueOf(kube, pod, variable, address), variables);
  }
  return variables;
}

async function valueOf(
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
  const found = (await dataOf(kube, kind, source.name, namespace)).get(source.key);
  if (!found) throw new ConfigError(`couldn't find key ${source.key} in ${kind.kind} ${namespace}/${source.name}`);
  return found.toString('utf8');
}

/** `$(NAME)` of a variable that is known; `$$(NAME)` stands for itself. Pure. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([^()]+)\)/g, (found, name?: string) => {
    if (name === undefined) return '$';
    return variables[name] ?? found;
  });
}
