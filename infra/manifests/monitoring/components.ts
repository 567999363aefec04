import type { MonitoringSettings } from '../../../runtime/contracts/resources/monitoring.ts';
import { alertmanager } from './alertmanager.ts';
import type { ComponentName, MonitoringComponent } from './component.ts';
import { dashboards } from './dashboards.ts';
import { upstreamImages } from './images.ts';
import { logShipper } from './log-shipper.ts';
import { logStore } from './log-store.ts';
import { metricsStore } from './metrics-store.ts';
import { nodeExporter } from './node-exporter.ts';

/** The components of monitoring by name. Pure. */
export function monitoringComponents(
  settings: Pick<MonitoringSettings, 'ingressMetrics'>,
): Partial<Record<ComponentName, MonitoringComponent>> {
  return {
    'metrics-store': metricsStore({ ingressMetrics: settings.ingressMetrics }),
    'node-exporter': nodeExporter,
    alertmanager,
    'log-store': logStore,
    'log-shipper': logShipper,
    dashboards,
  };
}

/** The image of a component: the one in the settings, or the upstream one. */
export function componentImage(
  name: ComponentName,
  { images }: Pick<MonitoringSettings, 'images'>,
): string | undefined {
  return images?.[name] ?? upstreamImages[name];
}
