import { join } from 'node:path';
import { run } from '../../infra/demo/program.ts';
import { paths } from '../../infra/testcluster/cluster.ts';
import { uniqueName, type Platform } from './platform.ts';

interface TraefikDeployment {
  spec: { template: { metadata: { labels: Record<string, string> }; spec: TraefikPod } };
}

interface TraefikPod {
  containers: { args: string[]; readinessProbe: { httpGet: { port: number } } }[];
}

const namespace = 'traefik';
/** Beside the ports of the cluster's own Traefik, which is on the same machine. */
const portOffset = 200;

/**
 * A second Traefik, as the cluster's own but for its ports, that believes what a client on this machine says about whom
 * it forwards for: as one does behind a load balancer. Gone when the test ends.
 * @returns its address
 */
export async function trustingIngress(t: { teardown(end: () => unknown): void }, platform: Platform): Promise<string> {
  const found = await platform.kubectl('-n', namespace, 'get', 'deployment', 'traefik', '-o', 'json');
  const { template } = (JSON.parse(found.stdout) as TraefikDeployment).spec;
  const [container] = template.spec.containers;
  if (!container) throw new Error('the Deployment of Traefik has no container');
  container.args = [
    ...container.args.map((argument) =>
      argument.replace(/(?<=^--entryPoints\.\w+\.address=.*:)\d+$/, (port) => String(Number(port) + portOffset)),
    ),
    '--entryPoints.web.forwardedHeaders.trustedIPs=127.0.0.1/32',
  ];
  container.readinessProbe.httpGet.port += portOffset;
  const name = uniqueName('trusting-');
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec: template.spec };
  t.teardown(() => platform.kubectl('-n', namespace, 'delete', 'pod', name, '--wait=false'));
  const kubectl = ['--kubeconfig', platform.info.kubeconfig, '-n', namespace, 'create', '-f', '-'];
  const created = await run(join(paths().binDir, 'kubectl'), kubectl, { input: JSON.stringify(pod) });
  if (created.code !== 0) throw new Error(created.stderr);
  return `http://127.0.0.1:${paths().ingressPort + portOffset}`;
}
