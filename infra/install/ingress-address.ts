import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { InstallError } from './install-error.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/ */
interface Service extends KubeObject {
  spec?: { type?: string; ports?: { name?: string; port: number; protocol?: string; appProtocol?: string }[] };
}

/** The label of Traefik's Helm chart, which k3s uses too. */
const traefikSelector = 'app.kubernetes.io/name=traefik';

/**
 * The ingress's address inside the cluster: the port of Traefik's Service that is named after an entry point, as Traefik's
 * chart does. One entry point is enough, since Traefik applies a route to all of its entry points at once.
 * @returns undefined when there is no such Service
 * @throws InstallError when there are several
 */
export async function findIngressAddress(
  kube: Pick<KubeClient, 'list'>,
  entryPoints: readonly string[],
): Promise<string | undefined> {
  const { items } = await kube.list<Service>(kinds.Service, { labelSelector: traefikSelector });
  const addresses = items.flatMap(({ metadata, spec = {} }) => {
    if (spec.type === 'ExternalName') return [];
    const ports = (spec.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP');
    const port = entryPoints
      .map((entryPoint) => ports.find(({ name }) => name === entryPoint))
      .find((candidate) => candidate !== undefined);
    if (!port) return [];
    const host = `${metadata.name}.${metadata.namespace}.svc`;
    return [`${usesTls(port) ? 'https' : 'http'}://${host}:${port.port}`];
  });
  if (addresses.length <= 1) return addresses[0];
  throw new InstallError(
    `Several Services could be the ingress: ${addresses.sort().join(', ')}.`,
    'Choose the one that serves public routes with --ingress-address <address>.',
    { reason: 'settings' },
  );
}

/** A guess by number and name, since a Service does not state whether its port uses TLS. */
function usesTls({ name = '', port, appProtocol }: { name?: string; port: number; appProtocol?: string }): boolean {
  return appProtocol === 'https' || port === 443 || port === 8443 || /secure|tls|https/i.test(name);
}
