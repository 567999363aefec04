import { readFileSync, writeFileSync } from 'node:fs';

/** Values of kernel settings by their path under /proc/sys. */
export type KernelSettings = Readonly<Record<string, string>>;

/**
 * The settings that the cluster changes: this code enables forwarding and keeps new interfaces without IPv6 addresses; the
 * kubelet and kube-proxy set the rest when they start.
 */
const changedPaths = [
  'net/ipv4/ip_forward',
  'net/ipv6/conf/default/addr_gen_mode',
  'net/ipv4/conf/all/route_localnet',
  'net/bridge/bridge-nf-call-iptables',
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
  'net/netfilter/nf_conntrack_max',
];

/** Reads the settings that the cluster changes. A setting that this kernel does not have is omitted. */
export function readKernelSettings(): KernelSettings {
  return Object.fromEntries(
    changedPaths.flatMap((path) => {
      const value = readKernelSetting(path);
      return value === undefined ? [] : [[path, value]];
    }),
  );
}

/** The value of a setting; undefined when this kernel does not have it. */
export function readKernelSetting(path: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${path}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Writes the settings that differ. A machine that forbids a change keeps its value. */
export function writeKernelSettings(settings: KernelSettings): void {
  for (const [path, value] of Object.entries(settings)) {
    if (readKernelSetting(path) === value) continue;
    try {
      writeFileSync(`/proc/sys/${path}`, value);
    } catch {
      // The cluster could not have changed it either.
    }
  }
}
