import { run } from '../../../infra/demo/program.ts';
import { paths } from '../../../infra/testcluster/cluster.ts';
import { eventually, uniqueName, type Platform } from '../platform.ts';
import type { Teardown } from './target-types.ts';
import type { Target } from './target-types.ts';

const system = 'svc-system';
const storePort = '5432';

/** Its parent is the container's init. */
const theProcess = '$(cat /proc/1/task/1/children)';

/** The test cluster: commands run inside its containers, and its network is this machine's. */
export function clusterTarget(platform: Platform): Target {
  const inPod = async (pod: string, command: string) => {
    const script = `process=${theProcess}; ${command}`;
    await eventually(
      () => platform.kubectl('-n', system, 'exec', pod, '--', 'sh', '-c', script),
      ({ code }) => code === 0,
    );
  };
  return {
    // After a moment: a shell in the killed container may not live to report success.
    signal: (pod, signal) => inPod(pod, `(sleep 0.5; kill -${signal} $process) >/dev/null 2>&1 &`),
    pause: (pod, seconds) => inPod(pod, `kill -STOP $process; sleep ${seconds}; kill -CONT $process`),
    storeSwitch(t) {
      let rules: string[][] = [];
      const restore = async () => {
        const added = rules;
        rules = [];
        for (const rule of added) await iptables('-D', rule);
      };
      t.teardown(restore);
      const cut = async (checkers: readonly { ip: string }[]) => {
        for (const { ip } of checkers) {
          const rule = ['-s', ip, '-p', 'tcp', '--dport', storePort, '-j', 'DROP'];
          await iptables('-I', rule);
          rules.push(rule);
        }
      };
      return Promise.resolve({ cut, restore });
    },
    trustingIngress: (t) => trustingTraefik(t, platform),
  };
}

async function iptables(action: '-I' | '-D', rule: string[]): Promise<void> {
  const ended = await run('iptables', ['-w', action, 'FORWARD', ...rule]);
  if (ended.code !== 0) throw new Error(ended.stderr);
}

interface TraefikDeployment {
  spec: { template: { metadata: { labels: Record<string, string> }; spec: TraefikPod } };
}

interface TraefikPod {
  containers: { args: string[]; readinessProbe: { httpGet: { port: number } } }[];
}

const traefik = 'traefik';
/** Next to the ports of the cluster's own Traefik, which is on the same machine. */
const portOffset = 200;

/** A second Traefik, like the cluster's own except for its ports. */
async function trustingTraefik(t: Teardown, platform: Platform): Promise<string> {
  const deployment = await platform.kubectl('-n', traefik, 'get', 'deployment', 'traefik', '-o', 'json');
  const { template } = (JSON.parse(deployment.stdout) as TraefikDeployment).spec;
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
  t.teardown(() => platform.kubectl('-n', traefik, 'delete', 'pod', name, '--wait=false'));
  const created = await platform.kubectlInput(JSON.stringify(pod), '-n', traefik, 'create', '-f', '-');
  if (created.code !== 0) throw new Error(created.stderr);
  return `http://127.0.0.1:${paths().ingressPort + portOffset}`;
}
