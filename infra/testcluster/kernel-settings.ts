import { readFileSync, writeFileSync } from 'node:fs';

/** Values of kernel settings by their path under /proc/sys. */
export type KernelSettings = Readonly<Record<string, string>>;

/** What the cluster's processes change: forwarding by us, the rest by the kubelet and kube-proxy as they start. */
const changed = [
  ...['net/ipv4/ip_forward', 'net/ipv4/conf/all/route_localnet', 'net/bridge/bridge-nf-call-iptables'],
  ...['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'],
  ...['kernel/keys/root_maxkeys', 'kernel/keys/root_maxbytes', 'net/netfilter/nf_conntrack_max'],
];

/** Reads what is going to be changed. A setting that this kernel lacks is left out. */
export function readKernelSettings(): KernelSettings {
  return Object.fromEntries(
    changed.flatMap((path) => {
      const value = readKernelSetting(path);
      return value === undefined ? [] : [[path, value]];
    }),
  );
}

/** One setting's value, or undefined when this kernel lacks it. */
export function readKernelSetting(path: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${path}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Writes those settings that differ. A machine that forbids writing one keeps its value. */
export function writeKernelSettings(settings: KernelSettings): void {
  for (const [path, value] of Object.entries(settings)) {
    if (readKernelSetting(path) === value) continue;
    try {
      writeFileSync(`/proc/sys/${path}`, value);
    } catch {
      // Then it was not us who changed it either.
    }
  }
}
