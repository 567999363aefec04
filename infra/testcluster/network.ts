import { networkInterfaces } from 'node:os';
import { attempt, run } from './command.ts';
import { podBridgeCommands, removeNodeNetwork } from './node-network.ts';
import { ClusterProblem } from './problem.ts';
import { network, node, secondNode } from './settings.ts';

/** Commands of `ip` that add the cluster's bridges, addresses and routes, in order. Pure. */
export function linkCommands(): string[][] {
  return [
    ...podBridgeCommands(node),
    ['link', 'add', network.nullBridge, 'type', 'bridge'],
    ['address', 'add', `${node.address}/32`, 'dev', network.nullBridge],
    ['link', 'set', network.nullBridge, 'up'],
    // A packet to a Service address without a rule ends on this empty bridge and never leaves the machine.
    ['route', 'add', network.serviceRange, 'dev', network.nullBridge],
  ];
}

/** Whether an IPv4 address lies in a range such as `10.0.0.0/8`. Pure. */
export function contains(range: string, address: string): boolean {
  const [base = '', bits = '32'] = range.split('/');
  const mask = bits === '0' ? 0 : (-1 << (32 - Number(bits))) >>> 0;
  return (numeric(base) & mask) >>> 0 === (numeric(address) & mask) >>> 0;
}

function numeric(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) >>> 0;
}

/**
 * Adds the bridges and routes.
 * @throws ClusterProblem when the machine's own networks use the same addresses
 */
export async function addLinks(): Promise<void> {
  const ranges = [network.podRange, network.serviceRange, `${node.address}/32`, `${secondNode.address}/32`];
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    for (const { address, family } of addresses ?? []) {
      const conflict = ranges.find((range) => contains(range, address));
      if (family !== 'IPv4' || conflict === undefined) continue;
      throw new ClusterProblem(
        `The test cluster needs the addresses ${conflict}, but this machine's interface ${name} uses ${address}.`,
      );
    }
  }
  for (const parameters of linkCommands()) await run('ip', parameters);
}

/**
 * Removes the second node's network, and the bridges, with their addresses and routes, and pods' interfaces that are still
 * on one.
 */
export async function removeLinks(): Promise<void> {
  await removeNodeNetwork();
  const result = await attempt('ip', ['-json', 'link', 'show', 'master', network.podBridge]);
  if (result.code === 0) {
    for (const link of JSON.parse(result.stdout || '[]') as { ifname?: string }[]) {
      if (link.ifname !== undefined) await attempt('ip', ['link', 'delete', link.ifname]);
    }
  }
  for (const name of [network.podBridge, network.nullBridge]) await attempt('ip', ['link', 'delete', name]);
}
