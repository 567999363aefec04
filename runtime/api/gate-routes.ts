import { gateUpdate, gateView, type GateView } from '../contracts/api/public-route.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import { gatedCondition, type GatedWorkload, type GatePhase } from '../contracts/resources/public-route.ts';
import type { Route } from '../http/route.ts';
import { findCondition } from '../kube/conditions.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { workloadIdOf } from '../workloads/objects.ts';
import { keyAuditMessage } from './key-audit.ts';
import type { ObjectRoutes } from './object-routes.ts';

type Gateable = App | FunctionResource;

/**
 * The observed state of the gate: `applying` from the request to enable it until the ingress was seen to require a key, and
 * `lifting` from the request to disable it until the ingress was seen to require none.
 */
export function gateOf({ spec, status }: Pick<GatedWorkload, 'spec' | 'status'>): GatePhase {
  const { gate: observed = 'off' } = status ?? {};
  if (spec.gate?.enabled) return observed === 'gated' ? observed : 'applying';
  return observed === 'off' ? observed : 'lifting';
}

/** The gate, with the controller's report where it is about the current spec. */
function gateToView(workload: GatedWorkload): GateView {
  const { status } = workload;
  const gate = gateOf(workload);
  if (gate !== status?.gate || status.gateSince === undefined) return { gate };
  const message = findCondition(status.conditions, gatedCondition)?.message;
  return { gate, since: status.gateSince, ...(message !== undefined && { message }) };
}

/**
 * `/gate` below a workload's path: whether its public route requires an API key.
 * @param checkRoute throws a Problem for a workload without a public route
 */
export function gateRoutes<Workload extends Gateable>(
  objects: ObjectRoutes<Workload>,
  { kube }: { kube: KubeClient },
  checkRoute: (workload: Stored<Workload>) => void = () => undefined,
): Route[] {
  const common = { path: '/gate', replies: { 200: gateView } } as const;

  return [
    objects.route({
      ...common,
      method: 'PUT',
      access: { project: 'admin' },
      summary:
        'Enables or disables the gate. Until the ingress was seen to apply the change, the gate is `applying` or `lifting`.',
      audit: 'gate.enable',
      auditMessage: keyAuditMessage,
      body: gateUpdate,
      async handle({ body: { enabled }, findLiving }) {
        const before = await findLiving();
        checkRoute(before);
        const { apiVersion, kind, metadata } = before;
        const { name, namespace = '', uid } = metadata;
        const ref = { apiVersion, kind, namespace, name };
        const after = await kube.mergePatch<Workload>(ref, { metadata: { uid }, spec: { gate: { enabled } } });
        const changed = (before.spec.gate?.enabled ?? false) !== enabled;
        const action = enabled ? ('gate.enable' as const) : ('gate.disable' as const);
        const audit = changed && { action, [kind.toLowerCase()]: { id: workloadIdOf(after), name } };
        return { status: 200, body: gateToView(after), audit };
      },
    }),
    objects.route({
      ...common,
      method: 'GET',
      access: { project: 'viewer', scope: 'read' },
      summary: 'Shows whether the public route requires an API key, since when, and what the platform last observed.',
      async handle({ find }) {
        const workload = await find();
        checkRoute(workload);
        return { status: 200, body: gateToView(workload) };
      },
    }),
  ];
}
