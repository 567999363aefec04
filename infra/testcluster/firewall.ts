import { attempt, run } from './command.ts';
import { network, node, ports, type IngressPorts } from './settings.ts';

/** The two families of rules. kube-proxy and the kubelet write both. */
const families = ['iptables', 'ip6tables'] as const;

const ownChain = new RegExp(`^(KUBE-|${network.chain}$)`);

/**
 * Turns what `iptables-save` prints into input for `iptables-restore --noflush` that removes this cluster's chains and
 * every rule that jumps to one of them, and nothing else. Pure.
 * @returns an empty text when there is nothing to remove
 */
export function removalScript(saved: string): string {
  const script: string[] = [];
  for (const table of saved.split(/^(?=\*)/m)) {
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

/** Rules that let pods out under the machine's address, and keep others away from what listens on every address. Pure. */
export function ownRules(ingress: Pick<IngressPorts, 'web' | 'websecure'>): string {
  const { chain, podRange, podBridge } = network;
  const guarded = [ports.apiServer, ports.registry, ingress.web, ingress.websecure].map(
    (port) => `-p tcp -m tcp --dport ${port}`,
  );
  return `*nat
:${chain} - [0:0]
-A POSTROUTING -j ${chain}
-A ${chain} -s ${podRange} ! -d ${podRange} -j MASQUERADE
COMMIT
*filter
:${chain} - [0:0]
${guarded.map((match) => `-I INPUT ${match} -j ${chain}`).join('\n')}
-I FORWARD -i ${podBridge} -j ${chain}
-I FORWARD -o ${podBridge} -j ${chain}
-A ${chain} -i lo -j RETURN
-A ${chain} -i ${podBridge} -j ACCEPT
-A ${chain} -o ${podBridge} -j ACCEPT
${guarded.map((match) => `-A ${chain} ${match} -j REJECT`).join('\n')}
COMMIT
`;
}

/** Adds this cluster's own rules; kube-proxy adds its own itself. */
export async function addRules(ingress: IngressPorts): Promise<void> {
  await run('iptables-restore', ['--noflush', '--wait'], { input: ownRules(ingress) });
}

/** Which of this cluster's kinds of chains exist now: our own, and Kubernetes' (ours or another's). */
export async function existingChains(): Promise<{ own: boolean; kubernetes: boolean }> {
  const saved = await attempt('iptables-save', []);
  return {
    own: saved.stdout.includes(`:${network.chain} `),
    kubernetes: saved.stdout.includes(':KUBE-SERVICES '),
  };
}

/** Removes what {@link addRules}, kube-proxy and the kubelet added, in every table of both families. */
export async function removeRules(): Promise<void> {
  for (const family of families) {
    const saved = await attempt(`${family}-save`, []);
    const script = removalScript(saved.stdout);
    if (script !== '') await run(`${family}-restore`, ['--noflush', '--wait'], { input: script });
  }
  // A connection that was translated keeps its translation, and would reach for a pod that is gone.
  await attempt('conntrack', ['--delete', '--orig-dst', network.serviceRange]);
  await attempt('conntrack', ['--delete', '--orig-src', network.podRange]);
  await attempt('conntrack', ['--delete', '--orig-src', node.address]);
}
