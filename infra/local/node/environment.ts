import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { parseBytes, parseMillicores } from '../../../runtime/domain/quantity.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Service } from '../controllers/objects.ts';
import { fieldOf, type Container, type EnvVar, type NodePod } from './pod-spec.ts';

/** A reference of a container to something that is not there (yet); it waits with `CreateContainerConfigError`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What a Secret or ConfigMap holds, as text; `data` of a Secret is base64. */
interface Data extends KubeObject {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

/** The entries of a Secret or ConfigMap as bytes; undefined when it is optional and not there. @throws ConfigError */
export async function dataOf(
  kube: Pick<KubeClient, 'get'>,
  kind: ResourceKind,
  name: string,
  { namespace, optional = false }: { namespace: string | undefined; optional?: boolean | undefined },
): Promise<Map<string, Buffer> | undefined> {
  const object = await kube.get<Data>(kind, name, namespace);
  if (!object) {
    if (optional) return undefined;
    throw new ConfigError(`${kind.kind.toLowerCase()} "${name}" not found`);
  }
  const encoding = kind === kinds.Secret ? 'base64' : 'utf8';
  return new Map([
    ...Object.entries(object.data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)] as const),
    ...Object.entries(object.binaryData ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
  ]);
}

/**
 * The variables that a container's specification gives it, in Kubernetes' order: Services where asked for, `envFrom`,
 * `env`, each with `$(NAME)` replaced by what came before it. @throws ConfigError for a Secret, ConfigMap or key that is not there
 */
export async function environmentOf(
  kube: Pick<KubeClient, 'get' | 'list'>,
  pod: NodePod,
  container: Container,
  address: string,
): Promise<Record<string, string>> {
  const { namespace } = pod.metadata;
  const variables: Record<string, string> = pod.spec.enableServiceLinks === false ? {} : await serviceLinks(kube, pod);
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    const source = secretRef ?? configMapRef;
    if (!source) continue;
    const kind = secretRef ? kinds.Secret : kinds.ConfigMap;
    const data = await dataOf(kube, kind, source.name, { namespace, optional: source.optional });
    for (const [key, value] of data ?? []) variables[`${prefix}${key}`] = value.toString('utf8');
  }
  for (const variable of container.env ?? []) {
    const value = await valueOf(kube, pod, container, variable, address);
    if (value !== undefined) variables[variable.name] = expand(value, variables);
  }
  return variables;
}

async function valueOf(
  kube: Pick<KubeClient, 'get'>,
  pod: NodePod,
  container: Container,
  { value = '', valueFrom }: EnvVar,
  address: string,
): Promise<string | undefined> {
  if (!valueFrom) return value;
  const { secretKeyRef, configMapKeyRef, fieldRef, resourceFieldRef } = valueFrom;
  if (fieldRef) return fieldOf(pod, fieldRef.fieldPath, address) ?? '';
  if (resourceFieldRef) return resourceOf(container, resourceFieldRef.resource);
  const source = secretKeyRef ?? configMapKeyRef;
  if (!source) return '';
  const kind = secretKeyRef ? kinds.Secret : kinds.ConfigMap;
  const { optional } = source;
  const found = (await dataOf(kube, kind, source.name, { namespace: pod.metadata.namespace, optional }))?.get(
    source.key,
  );
  if (found === undefined && !optional) {
    throw new ConfigError(`couldn't find key ${source.key} in ${kind.kind} ${pod.metadata.namespace}/${source.name}`);
  }
  // An optional one that is missing leaves the variable out.
  return found?.toString('utf8');
}

/** `limits.memory` in bytes, `limits.cpu` in cores, rounded up. */
function resourceOf(container: Container, resource: string): string {
  const [kind, name] = resource.split('.');
  const quantity = container.resources?.[kind === 'requests' ? 'requests' : 'limits']?.[name ?? ''] ?? '0';
  const amount = name === 'cpu' ? Math.ceil((parseMillicores(quantity) ?? 0) / 1000) : parseBytes(quantity);
  return String(amount ?? 0);
}

/** `$(NAME)` of a variable that is known; `$$(NAME)` stands for itself. Pure. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([^()]+)\)/g, (found, name?: string) => {
    if (name === undefined) return '$';
    return variables[name] ?? found;
  });
}

async function serviceLinks(kube: Pick<KubeClient, 'list'>, pod: NodePod): Promise<Record<string, string>> {
  const { namespace } = pod.metadata;
  const { items } = await kube.list<Service>(kinds.Service, { ...(namespace !== undefined && { namespace }) });
  return Object.fromEntries(
    items.flatMap(({ metadata, spec }) => {
      if (spec.clusterIP === undefined || spec.clusterIP === 'None') return [];
      const name = metadata.name.toUpperCase().replaceAll('-', '_');
      const [first] = spec.ports ?? [];
      return [
        [`${name}_SERVICE_HOST`, spec.clusterIP],
        ...(first ? [[`${name}_SERVICE_PORT`, String(first.port)]] : []),
      ];
    }),
  );
}
