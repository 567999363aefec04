import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { ComponentName, MonitoringNamespace } from '../../../runtime/domain/monitoring.ts';

export { componentNames, type ComponentName } from '../../../runtime/domain/monitoring.ts';

/** What a component's objects depend on. */
export interface ComponentSettings {
  /** The component's image. */
  image: string;
  /** The memory limit of its container, such as `512Mi`; the request is half of it. */
  memory: string;
}

/** A component of monitoring: its objects as a pure function of its settings. */
export interface MonitoringComponent {
  name: ComponentName;
  /** The namespace of its objects. */
  namespace: MonitoringNamespace;
  /** All its objects, in the order in which they are applied. */
  objects: (settings: ComponentSettings) => KubeObject[];
}
