import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';

/** The components of monitoring that an installation can run. */
const componentNames = [
  'metrics-store',
  'node-exporter',
  'alertmanager',
  'log-store',
  'log-shipper',
  'dashboards',
] as const;

type ComponentName = (typeof componentNames)[number];

/** What a component's objects depend on. */
interface ComponentSettings {
  /** The component's image. */
  image: string;
  /** The memory limit of its container, such as `512Mi`; the request is half of it. */
  memory: string;
}

/** A component of monitoring: its objects as a pure function of its settings. */
export interface MonitoringComponent {
  name: ComponentName;
  /** The namespace of its objects. */
  namespace: 'monitoring' | 'svc-log-shipper';
  /** All its objects, in the order in which they are applied. */
  objects: (settings: ComponentSettings) => KubeObject[];
}
