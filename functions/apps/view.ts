import type { AppView } from '../../runtime/contracts/api/apps.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { lastOutOfMemory } from '../../runtime/contracts/resources/out-of-memory.ts';
import { shortBindings } from '../../runtime/api/binding-routes.ts';
import { gateOf } from '../../runtime/api/gate-routes.ts';
import { securityToView } from '../../runtime/api/security-settings.ts';
import { bindingWait } from '../../runtime/workloads/bindings.ts';
import { shownIdOf } from '../../runtime/workloads/objects.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { NotRunning } from './not-running.ts';

/** A spec that the controller has not observed yet counts as `deploying`, and an app whose first build failed as `failed`. */
function phaseOf({ metadata, spec, status }: App, notRunning: NotRunning | undefined): AppView['status'] {
  if (metadata.deletionTimestamp !== undefined) return 'deleting';
  const { phase = 'pending', observedGeneration } = status ?? {};
  if (phase === 'pending' && notRunning?.failed) return 'failed';
  const behind = observedGeneration !== undefined && observedGeneration < (metadata.generation ?? 0);
  if (behind && (phase === 'running' || phase === 'failed')) return 'deploying';
  return phase === 'running' && spec.replicas === 0 ? 'stopped' : phase;
}

/** An app as the API shows it. `url` and `notRunning` are used when the controller has reported none. */
export function appToView(
  app: Stored<App>,
  { project, environment }: Environment,
  {
    url,
    pendingRestart,
    notRunning,
  }: { url?: string; pendingRestart?: boolean; notRunning?: NotRunning | undefined } = {},
): AppView {
  const { metadata, spec, status } = app;
  const reported = {
    url: status?.url ?? url,
    message: status?.message ?? notRunning?.message ?? (spec.release ? undefined : bindingWait(app)?.message),
  };
  const outOfMemory = lastOutOfMemory(status);
  const rollout = status?.release;
  return {
    id: shownIdOf(app),
    name: metadata.name,
    project,
    environment,
    image: spec.release?.image ?? spec.image,
    port: spec.port,
    replicas: spec.replicas,
    readyReplicas: status?.readyReplicas ?? 0,
    ...(rollout?.phase === 'progressing' && {
      rollout: { revision: rollout.generation, readyReplicas: rollout.readyReplicas ?? 0 },
    }),
    status: phaseOf(app, notRunning),
    ...(reported.message !== undefined && { message: reported.message }),
    ...(outOfMemory && { outOfMemory }),
    ...(reported.url !== undefined && { url: reported.url }),
    ...(spec.healthPath !== undefined && { healthPath: spec.healthPath }),
    ...(spec.releaseCommand && { releaseCommand: spec.releaseCommand }),
    ...(spec.memory !== undefined && { memory: spec.memory }),
    ...(spec.cpu !== undefined && { cpu: spec.cpu }),
    volumes: spec.volumes ?? [],
    autoRollback: spec.autoRollback ?? true,
    extraHosts: spec.extraHosts ?? [],
    security: securityToView(spec.security),
    env: Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
    ...shortBindings(app),
    ...(pendingRestart !== undefined && { pendingRestart }),
    gate: gateOf(app),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}
