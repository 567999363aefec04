import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { InstallError } from './install-error.ts';

/** The kinds of Traefik that the platform's routes are made of. */
const traefik = [kinds.IngressRoute, kinds.Middleware];

/** @throws InstallError when the cluster lacks what the platform builds on, before anything was changed */
export async function checkPrerequisites(kube: KubeClient): Promise<void> {
  for (const { plural, apiVersion } of traefik) {
    const name = `${plural}.${apiVersion.split('/')[0]}`;
    if (!(await kube.get(kinds.CustomResourceDefinition, name))) {
      throw new InstallError(
        `The cluster does not know ${name}: Traefik 3 and its custom resources are not installed.`,
        'k3s brings Traefik along. Elsewhere: helm install traefik traefik --repo https://traefik.github.io/charts --namespace traefik --create-namespace',
      );
    }
  }
}
