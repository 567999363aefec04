import type { AppView, GateView } from '../../runtime/contracts/api/apps.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { gatedCondition, type App } from '../../runtime/contracts/resources/app.ts';
import { lastOutOfMemory } from '../../runtime/contracts/resources/out-of-memory.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { findCondition } from '../../runtime/kube/conditions.ts';
import type { Environment } from '../../runtime/kube/environments.ts';

/**
 * The gate as it is, not as it is wished: a wish to protect shows as `applying` until the ingress was seen to demand a
 * key, and a wish to open as `lifting` until it was seen to demand none (spec.md §3.2).
 */
export function gateOf({ spec, status }: App): AppView['gate'] {
  const { gate: observed = 'off' } = status ?? {};
  if (spec.gate?.enabled) return observed === 'gated' ? observed : 'applying';
  return observed === 'off' ? observed : 'lifting';
}

/** The gate with what the controller says of it, as far as that is about the wish as it is now. */
export function gateToView(app: App): GateView {
  const { status } = app;
  const gate = gateOf(app);
  if (gate !== status?.gate || status.gateSince === undefined) return { gate };
  const message = findCondition(status.conditions, gatedCondition)?.message;
  return { gate, since: status.gateSince, ...(message !== undefined && { message }) };
}

/** What the controller has not seen yet does not run already. */
function phaseOf({ metadata, status }: App): AppView['status'] {
  if (metadata.deletionTimestamp !== undefined) return 'deleting';
  const { phase = 'pending', observedGeneration } = status ?? {};
  const behind = observedGeneration !== undefined && observedGeneration < (metadata.generation ?? 0);
  return behind && (phase === 'running' || phase === 'failed') ? 'deploying' : phase;
}

/** An app as the API shows it. `url` fills in before the controller has reported one. */
export function appToView(
  app: Stored<App>,
  { project, environment }: Environment,
  { url, pendingRestart }: { url?: string; pendingRestart?: boolean } = {},
): AppView {
  const { metadata, spec, status } = app;
  const shownUrl = status?.url ?? url;
  const killed = lastOutOfMemory(status);
  const rollout = status?.release;
  return {
    id: workloadIdOf(app),
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
    status: phaseOf(app),
    ...(status?.message !== undefined && { message: status.message }),
    ...(killed && { outOfMemory: killed }),
    ...(shownUrl !== undefined && { url: shownUrl }),
    ...(spec.healthPath !== undefined && { healthPath: spec.healthPath }),
    ...(spec.memory !== undefined && { memory: spec.memory }),
    ...(spec.cpu !== undefined && { cpu: spec.cpu }),
    volumes: spec.volumes ?? [],
    autoRollback: spec.autoRollback ?? true,
    extraHosts: spec.extraHosts ?? [],
    security: { headers: spec.security?.headers ?? false, csp: spec.security?.csp ?? null },
    env: Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
    ...(pendingRestart !== undefined && { pendingRestart }),
    gate: gateOf(app),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}
