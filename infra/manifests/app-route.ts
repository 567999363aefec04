import type { Id } from '../../runtime/domain/ids.ts';
import { workloadLabels } from '../../runtime/domain/labels.ts';
import type { WorkloadRoute } from './workload-route.ts';

/** What an app's public route is made of, beside what the app is. */
export type AppRouteInput = Pick<WorkloadRoute, 'hosts' | 'entryPoints' | 'scheme' | 'gated' | 'security'> & {
  id: Id;
  name: string;
  namespace: string;
};

/** The public route of an app: beside it, of its name, to its Service. Pure. */
export function appRoute({ id, name, namespace, ...settings }: AppRouteInput): WorkloadRoute {
  const labels = workloadLabels({ kind: 'App', name, id });
  return { ...settings, id, metadata: { name, namespace, labels }, service: { name, port: 80 }, retried: true };
}
