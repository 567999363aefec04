import { attempt, run } from './command.ts';
import { network, node, ports, secondNode, type IngressPorts } from './settings.ts';

/** The two families of rules. kube-proxy and the kubelet write both. */
const families = ['iptables', 'ip6tables'] as const;

const ownChain = new RegExp(`^(KUBE-|${network.chain}(-|$))`);

/**
 * Converts the output of `iptables-save` to input for `iptables-restore --noflush` that removes only this cluster's
 * chains and the rules that jump to them. Pure.
 * @returns an empty text when there is nothing to remove
 */
export function removalScript(dump: string): string {
  const script: string[] = [];
  for (const table of dump.split(/^(?=\*)/m)) {
    const lines = table.split('\n');
    const name = lines[0];
    if (name === undefined || !name.startsWith('*')) continue;
    const chains = lines.flatMap((line) => /^:(\S+)/.exec(line)?.[1] ?? []).filter((chain) => ownChain.test(chain));
    const jumps = lines.filter((line) => {
      const [, chain, target] = /^-A (\S+) .*?(?:-j|-g) (\S+)/.exec(line) ?? [];
      return chain !== undefined && target !== undefined && !ownChain.test(chain) && ownChain.test(target);
    });
    if (chains.length === 0) continue;
    script.push(
      name,
      // Declaring a chain empties it, so that chains that refer to each other can be deleted in any order.
      ...chains.map((chain) => `:${chain} - [0:0]`),
      ...jumps.map((line) => line.replace(/^-A/, '-D')),
      ...chains.map((chain) => `-X ${chain}`),
      'COMMIT',
    );
  }
  return script.length === 0 ? '' : `${script.join('\n')}\n`;
}

/**
 * Rules that let pods, of both nodes, reach other networks with the machine's address, and keep other machines away from
 * ports that are open on all addresses. Pure.
 */
export function ownRules(ingress: Pick<IngressPorts, 'web' | 'websecure'>): string {
  const { chain, podRange, podBridge } = network;
  const inside = [podBridge, secondNode.link];
  const each = (rule: (link: string) => string): string => inside.map(rule).join('\n');
  const guarded = [ports.apiServer, ports.registry, ports.ingressMetrics, ingress.web, ingress.websecure].map(
    (port) => `-p tcp -m tcp --dport ${port}`,
  );
  return `*nat
:${chain} - [0:0]
-A POSTROUTING -j ${chain}
-A ${chain} -s ${podRange} ! -d ${podRange} -j MASQUERADE
-A ${chain} -s ${secondNode.address} ! -d ${podRange} -j MASQUERADE
COMMIT
*filter
:${chain} - [0:0]
${guarded.map((match) => `-I INPUT ${match} -j ${chain}`).join('\n')}
${each((link) => `-I FORWARD -i ${link} -j ${chain}\n-I FORWARD -o ${link} -j ${chain}`)}
-A ${chain} -i lo -j RETURN
${each((link) => `-A ${chain} -i ${link} -j ACCEPT\n-A ${chain} -o ${link} -j ACCEPT`)}
${guarded.map((match) => `-A ${chain} ${match} -j REJECT`).join('\n')}
COMMIT
`;
}

/** Adds this cluster's own rules. kube-proxy adds its rules itself. */
export async function addRules(ingress: IngressPorts): Promise<void> {
  await run('iptables-restore', ['--noflush', '--wait'], { input: ownRules(ingress) });
}

/** Whether chains of this cluster exist, and chains of Kubernetes (of this cluster or another). */
export async function existingChains(): Promise<{ own: boolean; kubernetes: boolean }> {
  const dump = await attempt('iptables-save', []);
  return { own: dump.stdout.includes(`:${network.chain} `), kubernetes: dump.stdout.includes(':KUBE-SERVICES ') };
}

/** Removes the rules of {@link addRules}, kube-proxy and the kubelet from every table of both families. */
export async function removeRules(): Promise<void> {
  for (const family of families) {
    const dump = await attempt(`${family}-save`, []);
    const script = removalScript(dump.stdout);
    if (script !== '') await run(`${family}-restore`, ['--noflush', '--wait'], { input: script });
  }
  // An established connection keeps its address translation and would go to a deleted pod.
  await attempt('conntrack', ['--delete', '--orig-dst', network.serviceRange]);
  await attempt('conntrack', ['--delete', '--orig-src', network.podRange]);
  await attempt('conntrack', ['--delete', '--orig-src', node.address]);
}
