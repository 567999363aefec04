import { defaultProfile, type PlatformProfile } from './platform-profile.ts';

/** The components of monitoring that an installation can run. */
export const componentNames = [
  'metrics-store',
  'node-exporter',
  'alertmanager',
  'log-store',
  'log-shipper',
  'dashboards',
] as const;

export type ComponentName = (typeof componentNames)[number];

/** The stores. The other components serve one of them, and run when it does. */
export type StoreName = Extract<ComponentName, 'metrics-store' | 'log-store'>;

/** The store that each component serves. */
export const storeOf: Readonly<Record<ComponentName, StoreName>> = {
  'metrics-store': 'metrics-store',
  'node-exporter': 'metrics-store',
  alertmanager: 'metrics-store',
  dashboards: 'metrics-store',
  'log-store': 'log-store',
  'log-shipper': 'log-store',
};

/** The namespace of all components except the log shipper. */
export const monitoringNamespace = 'monitoring';

/** The namespace of the log shipper: it mounts folders of the node, which `monitoring` does not allow. */
export const shipperNamespace = 'svc-log-shipper';

export type MonitoringNamespace = typeof monitoringNamespace | typeof shipperNamespace;

/** Memory limits by profile. `nano` starts with the stores off; when one is switched on there, it has the limit of `small`. */
const storeMemory: Readonly<Record<PlatformProfile, Readonly<Record<StoreName, string>>>> = {
  nano: { 'metrics-store': '512Mi', 'log-store': '384Mi' },
  small: { 'metrics-store': '512Mi', 'log-store': '384Mi' },
  medium: { 'metrics-store': '1Gi', 'log-store': '512Mi' },
  large: { 'metrics-store': '1Gi', 'log-store': '512Mi' },
  xlarge: { 'metrics-store': '2Gi', 'log-store': '1Gi' },
};

const otherMemory: Readonly<Record<Exclude<ComponentName, StoreName>, string>> = {
  'node-exporter': '64Mi',
  alertmanager: '64Mi',
  dashboards: '128Mi',
  'log-shipper': '128Mi',
};

/** The memory limit of a component in a profile. */
export function profileMemory(name: ComponentName, profile: PlatformProfile = defaultProfile): string {
  return name === 'metrics-store' || name === 'log-store' ? storeMemory[profile][name] : otherMemory[name];
}

/** The highest limits that the platform sets by itself after a store was killed for memory. */
export const memoryCeilings: Readonly<Record<StoreName, string>> = { 'metrics-store': '4Gi', 'log-store': '2Gi' };

/** The least time between two automatic raises of one store. */
export const raisePauseMs = 10 * 60_000;

/** The smallest limit that can be set. */
export const minComponentMemory = '32Mi';

/** Where the admin server of svc-controllers lists the targets of the metrics store. */
export const targetsPath = '/scrape-targets';
