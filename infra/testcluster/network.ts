import { networkInterfaces } from 'node:os';
import { attempt, run } from './command.ts';
import { ClusterProblem } from './problem.ts';
import { network, node } from './settings.ts';

/** Commands of `ip` that add the cluster's bridges, addresses and routes, in order. Pure. */
export function linkCommands(): string[][] {
  const prefixLength = network.podRange.split('/')[1] ?? '';
  return [
    ['link', 'add', network.podBridge, 'type', 'bridge'],
    ['address', 'add', `${network.podGateway}/${prefixLength}`, 'dev', network.podBridge],
    ['link', 'set', network.podBridge, 'up'],
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
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    for (const { address, family } of addresses ?? []) {
      const conflict = [network.podRange, network.serviceRange, `${node.address}/32`].find((range) =>
        contains(range, address),
      );
      if (family !== 'IPv4' || conflict === undefined) continue;
      throw new ClusterProblem(
        `The test cluster needs the addresses ${conflict}, but this machine's interface ${name} uses ${address}.`,
      );
    }
  }
  for (const parameters of linkCommands()) await run('ip', parameters);
}

/** Removes the bridges, and with them their addresses and routes, and pods' interfaces that are still on one. */
export async function removeLinks(): Promise<void> {
  const result = await attempt('ip', ['-json', 'link', 'show', 'master', network.podBridge]);
  if (result.code === 0) {
    for (const link of JSON.parse(result.stdout || '[]') as { ifname?: string }[]) {
      if (link.ifname !== undefined) await attempt('ip', ['link', 'delete', link.ifname]);
    }
  }
  for (const name of [network.podBridge, network.nullBridge]) await attempt('ip', ['link', 'delete', name]);
}
