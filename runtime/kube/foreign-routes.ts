import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { managedByLabel, managedByValue } from '../domain/labels.ts';
import { isKubeError, type KubeClient } from './kube-client.ts';

/** Objects that the platform did not create; claims protect the hosts of its own. */
const foreign = { labelSelector: `${managedByLabel}!=${managedByValue}` };
/** `Host(...)` in a rule of Traefik, and each quoted name in it. */
const hostTerm = /\bHost\(([^()]*)\)/gi;
const quoted = /[`"]([^`"]*)[`"]/g;

/**
 * Whether an IngressRoute or Ingress that the platform did not create serves a host. Where the cluster has no such kind, or
 * does not let the platform list it, there is nothing to find.
 */
export async function isServedElsewhere(kube: Pick<KubeClient, 'list'>, host: string): Promise<boolean> {
  for (const [kind, hostsOf] of [
    [kinds.IngressRoute, hostsOfRoute],
    [kinds.Ingress, hostsOfIngress],
  ] as const) {
    try {
      const { items } = await kube.list(kind, foreign);
      if (items.some((object) => hostsOf(object).some((pattern) => covers(pattern.toLowerCase(), host)))) return true;
    } catch (error) {
      if (!isKubeError(error, 403) && !isKubeError(error, 404)) throw error;
    }
  }
  return false;
}

function hostsOfRoute({ spec }: Stored<KubeObject>): string[] {
  const { routes = [] } = (spec ?? {}) as { routes?: readonly { match?: string }[] };
  const terms = routes.flatMap(({ match = '' }) => [...match.matchAll(hostTerm)].map(([, names = '']) => names));
  return terms.flatMap((names) => [...names.matchAll(quoted)].map(([, name = '']) => name));
}

function hostsOfIngress({ spec }: Stored<KubeObject>): string[] {
  const { rules = [] } = (spec ?? {}) as { rules?: readonly { host?: string }[] };
  return rules.flatMap(({ host }) => host ?? []);
}

/** `*.example.com` of an Ingress covers one label. https://kubernetes.io/docs/concepts/services-networking/ingress/ */
function covers(pattern: string, host: string): boolean {
  if (!pattern.startsWith('*.')) return pattern.replace(/\.$/, '') === host;
  const dot = host.indexOf('.');
  return dot > 0 && host.slice(dot) === pattern.slice(1);
}
