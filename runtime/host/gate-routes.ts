import { z } from 'zod';
import { environmentQuery } from '../contracts/api/common.ts';
import { gateUpdate, gateView, type GateView } from '../contracts/api/public-route.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import { gatedCondition, type GatedWorkload, type GatePhase } from '../contracts/resources/public-route.ts';
import { findCondition } from '../kube/conditions.ts';
import { resolveEnvironment, type Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { route, sessionOf, type Route, type RouteRequest } from './route.ts';
import { getLivingWorkload, getWorkload, workloadIdOf } from './workload-objects.ts';

/** Whose gate the routes are about. */
export interface GateOwner<Workload extends App | FunctionResource> {
  kind: Workload['kind'];
  /** @throws Problem for a workload that has no public route */
  checkRoute?: (workload: Stored<Workload>) => void;
}

/**
 * The gate as it is, not as it is wished: a wish to protect shows as `applying` until the ingress was seen to demand a
 * key, and a wish to open as `lifting` until it was seen to demand none (spec.md §3.2).
 */
export function gateOf({ spec, status }: Pick<GatedWorkload, 'spec' | 'status'>): GatePhase {
  const { gate: observed = 'off' } = status ?? {};
  if (spec.gate?.enabled) return observed === 'gated' ? observed : 'applying';
  return observed === 'off' ? observed : 'lifting';
}

/** The gate with what the controller says of it, as far as that is about the wish as it is now. */
function gateToView(workload: GatedWorkload): GateView {
  const { status } = workload;
  const gate = gateOf(workload);
  if (gate !== status?.gate || status.gateSince === undefined) return { gate };
  const message = findCondition(status.conditions, gatedCondition)?.message;
  return { gate, since: status.gateSince, ...(message !== undefined && { message }) };
}

/** Whether a workload's public route requires an API key: `…/gate` below the workload's path. */
export function gateRoutes<Workload extends App | FunctionResource>(
  { kube }: { kube: KubeClient },
  { kind, checkRoute }: GateOwner<Workload>,
): Route[] {
  const what = kind === 'App' ? 'app' : 'function';
  const common = {
    params: z.object({ project: z.string().max(100), [what]: z.string().max(100) }),
    query: environmentQuery,
    replies: { 200: gateView },
    path: `/projects/:project/${what}s/:${what}/gate`,
    tag: `${what}s`,
  } as const;

  type Request = Pick<
    RouteRequest<Record<string, string>, { environment?: string | undefined }, unknown>,
    'params' | 'query'
  >;
  const find = async ({ params, query }: Request, get: typeof getWorkload) => {
    const environment = await resolveEnvironment(kube, params['project'] ?? '', query.environment);
    const workload = await get<Workload>(kube, kind, environment, params[what] ?? '');
    checkRoute?.(workload);
    return { environment, workload };
  };
  /** The entry of spec.md §6.3 for a gate that is switched: from then on keys decide over the route, or no longer. */
  const audit = (
    request: Pick<RouteRequest<unknown, unknown, unknown>, 'session' | 'log'>,
    { project, environment }: Environment,
    { spec, ...workload }: Stored<Workload>,
  ) => {
    const action = spec.gate?.enabled ? 'gate.enable' : 'gate.disable';
    const named = { [what]: { id: workloadIdOf({ ...workload, spec } as Workload), name: workload.metadata.name } };
    request.log.info({ action, environment, actor: sessionOf(request).email, project, ...named }, 'apikey audit');
  };

  return [
    route({
      ...common,
      body: gateUpdate,
      method: 'PUT',
      access: { project: 'admin' },
      summary:
        'Requires an API key on the public route, or no longer; `applying` and `lifting` until the ingress was seen to follow.',
      async handle(request) {
        const { enabled } = request.body;
        const { environment, workload: before } = await find(request, getLivingWorkload);
        const { apiVersion, metadata } = before;
        const { name, namespace = '', uid } = metadata;
        const ref = { apiVersion, kind, namespace, name };
        const after = await kube.mergePatch<Workload>(ref, { metadata: { uid }, spec: { gate: { enabled } } });
        if ((before.spec.gate?.enabled ?? false) !== enabled) audit(request, environment, after);
        return { status: 200, body: gateToView(after) };
      },
    }),
    route({
      ...common,
      method: 'GET',
      access: { project: 'viewer' },
      summary: 'Tells whether the public route requires an API key, since when, and what was last seen of it.',
      async handle(request) {
        const { workload } = await find(request, getWorkload);
        return { status: 200, body: gateToView(workload) };
      },
    }),
  ];
}
