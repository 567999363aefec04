import type { Id } from '../../runtime/domain/ids.ts';
import { workloadLabels } from '../../runtime/domain/labels.ts';
import type { WorkloadRoute } from './workload-route.ts';

/** The settings of an app's public route. */
export type AppRouteInput = Pick<WorkloadRoute, 'hosts' | 'entryPoints' | 'scheme' | 'gated' | 'security'> & {
  id: Id;
  name: string;
  namespace: string;
};

/** The public route of an app, which leads to its Service and has its name. Pure. */
export function appRoute({ id, name, namespace, ...settings }: AppRouteInput): WorkloadRoute {
  const labels = workloadLabels({ kind: 'App', name, id });
  return { ...settings, id, metadata: { name, namespace, labels }, service: { name, port: 80 } };
}
