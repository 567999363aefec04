import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { InstallError } from './install-error.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/ */
interface Service extends KubeObject {
  spec?: {
    type?: string;
    ports?: { name?: string; port: number; protocol?: string; appProtocol?: string }[];
  };
}

/** As Traefik's chart, and with it k3s, marks what it makes. */
const traefikSelector = 'app.kubernetes.io/name=traefik';

/**
 * The address at which the ingress answers inside the cluster: of Traefik's Service, the port named as one of the entry
 * points, as Traefik's chart names them. One entry point stands for all, since Traefik takes up a route for all of its
 * entry points at once.
 * @returns undefined when there is no such Service
 * @throws InstallError that names them when there are several
 */
export async function findIngressAddress(
  kube: Pick<KubeClient, 'list'>,
  entryPoints: readonly string[],
): Promise<string | undefined> {
  const { items } = await kube.list<Service>(kinds.Service, { labelSelector: traefikSelector });
  const found = items.flatMap(({ metadata, spec = {} }) => {
    if (spec.type === 'ExternalName') return [];
    const ports = (spec.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP');
    const port = entryPoints
      .map((entryPoint) => ports.find(({ name }) => name === entryPoint))
      .find((candidate) => candidate !== undefined);
    if (!port) return [];
    const host = `${metadata.name}.${metadata.namespace}.svc`;
    return [`${speaksTls(port) ? 'https' : 'http'}://${host}:${port.port}`];
  });
  if (found.length <= 1) return found[0];
  throw new InstallError(
    `Several Services may be the ingress: ${found.sort().join(', ')}.`,
    'Name the one that serves public routes: --ingress-address <address>.',
  );
}

/** The Service does not say it, but its names do. */
function speaksTls({ name = '', port, appProtocol }: { name?: string; port: number; appProtocol?: string }): boolean {
  return appProtocol === 'https' || port === 443 || port === 8443 || /secure|tls|https/i.test(name);
}
