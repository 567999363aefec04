import { variablesUpdate, variablesView } from '../contracts/api/variables.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import { Problem } from '../domain/problem.ts';
import { largeBodyLimit } from '../http/body.ts';
import type { Route } from '../http/route.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { Configurable } from '../workloads/objects.ts';
import type { ObjectRoutes } from './object-routes.ts';
import { changeVariables, mergedVariables, replacedVariables } from './workload-variables.ts';

/** How one kind of workload gets its variables and secrets. */
export interface VariableKind<Workload extends Configurable> {
  /** For summaries: `an app`. */
  phrase: string;
  /** When pods use a change, for summaries: "Pods use the new values …". */
  effect: string;
  /** Whether the running pods were started with other variables or secrets. */
  isRestartPending: (workload: Stored<Workload>) => Promise<boolean>;
  /** Called after a secret was changed, to notify the kind's controller. */
  onSecretChange?: (workload: Stored<Workload>) => Promise<void>;
}

/** `/env` below a workload's path: its variables, which every project member may read. */
export function variableRoutes<Workload extends Configurable>(
  objects: ObjectRoutes<Workload>,
  { kube }: { kube: KubeClient },
  { phrase, effect, isRestartPending }: VariableKind<Workload>,
): Route[] {
  const common = { path: '/env', replies: { 200: variablesView } } as const;
  const viewOf = async (workload: Stored<Workload>) => ({
    variables: Object.fromEntries((workload.spec.env ?? []).map(({ name, value }) => [name, value])),
    pendingRestart: await isRestartPending(workload),
  });

  return [
    objects.route({
      ...common,
      method: 'GET',
      access: { project: 'viewer', scope: 'read' },
      summary: `Lists the variables of ${phrase}, and whether changes wait for a restart.`,
      async handle({ find }) {
        return { status: 200, body: await viewOf(await find()) };
      },
    }),
    objects.route({
      ...common,
      method: 'PATCH',
      access: { project: 'deployer', scope: 'write' },
      summary: `Sets variables of ${phrase}; null deletes one. Pods use the new values ${effect}.`,
      audit: 'variables.update',
      body: variablesUpdate,
      bodyLimit: largeBodyLimit,
      async handle({ body, findLiving }) {
        const names = Object.keys(body);
        if (names.length === 0) throw new Problem('invalid_request', 'The request changes nothing. Set a variable.');
        const workload = await changeVariables<Workload>(kube, findLiving, (current) =>
          replacedVariables(kube, current, mergedVariables(current, body)),
        );
        return { status: 200, body: await viewOf(workload), audit: { names } };
      },
    }),
  ];
}
