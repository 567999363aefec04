import type { AppView } from '../../runtime/contracts/api/apps.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { Environment } from '../../runtime/kube/environments.ts';

/**
 * The gate as it is, not as it is wished: a wish to protect shows as `applying` until the route is protected, and a wish
 * to open leaves it `gated` until the route is open (spec.md §3.2).
 */
export function gateOf({ spec, status }: App): AppView['gate'] {
  const observed = status?.gate ?? 'off';
  return spec.gate?.enabled && observed === 'off' ? 'applying' : observed;
}

/** An app as the API shows it. `url` fills in before the controller has reported one. */
export function appToView(app: Stored<App>, { project, environment }: Environment, url?: string): AppView {
  const { metadata, spec, status } = app;
  const shownUrl = status?.url ?? url;
  return {
    id: workloadIdOf(app),
    name: metadata.name,
    project,
    environment,
    image: spec.release?.image ?? spec.image,
    port: spec.port,
    replicas: spec.replicas,
    readyReplicas: status?.readyReplicas ?? 0,
    status: metadata.deletionTimestamp === undefined ? (status?.phase ?? 'pending') : 'deleting',
    ...(status?.message !== undefined && { message: status.message }),
    ...(shownUrl !== undefined && { url: shownUrl }),
    gate: gateOf(app),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}
