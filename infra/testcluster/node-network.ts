import { attempt, run } from './command.ts';
import { network, node, secondNode } from './settings.ts';

/** The second node's end of the cable. */
const card = 'eth0';

/** Kernel settings of the second node's network namespace. As on the machine itself, pods use IPv4 only. */
const kernelSettings = [
  'net.ipv4.ip_forward=1',
  'net.bridge.bridge-nf-call-iptables=1',
  'net.ipv6.conf.default.addr_gen_mode=1',
];

/** Commands of `ip` on this machine: the namespace, the cable to it, and the routes to its node and pods. Pure. */
export function cableCommands(): string[][] {
  const { namespace, link, address, podRange } = secondNode;
  return [
    ['link', 'add', link, 'type', 'veth', 'peer', 'name', card, 'netns', namespace],
    ['link', 'set', link, 'up'],
    ['route', 'add', address, 'dev', link, 'src', node.address],
    ['route', 'add', podRange, 'via', address, 'src', node.address],
  ];
}

/** Commands of `ip` in the namespace after its end of the cable is up: everything is reached through the machine. Pure. */
export function routeCommands(): string[][] {
  return [
    ['route', 'add', node.address, 'dev', card, 'src', secondNode.address],
    ['route', 'add', 'default', 'via', node.address, 'src', secondNode.address],
  ];
}

/** Adds the network of the second node: a network namespace, connected to this machine. */
export async function addNodeNetwork(): Promise<void> {
  const { namespace, address } = secondNode;
  await run('ip', ['netns', 'add', namespace]);
  await run('ip', ['netns', 'exec', namespace, 'sysctl', '--quiet', '--write', ...kernelSettings]);
  for (const parameters of cableCommands()) await run('ip', parameters);
  await inNamespace(['link', 'set', 'lo', 'up'], ['address', 'add', `${address}/32`, 'dev', card]);
  await connectNode();
  await inNamespace(
    ...podBridgeCommands(secondNode),
    ['link', 'add', network.nullBridge, 'type', 'bridge'],
    ['link', 'set', network.nullBridge, 'up'],
    ['route', 'add', network.serviceRange, 'dev', network.nullBridge],
  );
}

/** Unplugs the cable at the second node: packets in both directions are lost, and the machine keeps its routes. */
export async function disconnectNode(): Promise<void> {
  await inNamespace(['link', 'set', card, 'down']);
}

/** Plugs the cable in. The kernel has dropped the routes of the end that was down. */
export async function connectNode(): Promise<void> {
  await inNamespace(['link', 'set', card, 'up'], ...routeCommands());
}

/** Removes the namespace, with its links and rules, once no process is in it. */
export async function removeNodeNetwork(): Promise<void> {
  await attempt('ip', ['link', 'delete', secondNode.link]);
  await attempt('ip', ['netns', 'delete', secondNode.namespace]);
}

/** Commands of `ip` that add the bridge of a node's pods. Pure. */
export function podBridgeCommands({ podRange, podGateway }: { podRange: string; podGateway: string }): string[][] {
  const prefixLength = podRange.split('/')[1] ?? '';
  return [
    ['link', 'add', network.podBridge, 'type', 'bridge'],
    ['address', 'add', `${podGateway}/${prefixLength}`, 'dev', network.podBridge],
    ['link', 'set', network.podBridge, 'up'],
  ];
}

async function inNamespace(...commands: string[][]): Promise<void> {
  for (const parameters of commands) await run('ip', ['-netns', secondNode.namespace, ...parameters]);
}
