import { posix } from 'node:path';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import {
  asksForSeveral,
  functionMemory,
  type FunctionResource,
  type FunctionSpec,
} from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { canonicalBytes, canonicalCpu, checkLimits } from '../../runtime/domain/quantity.ts';
import { environmentRoutes } from '../../runtime/host/environment-routes.ts';
import { functionEnvironment } from '../../runtime/host/function-environment.ts';
import { checkMounts } from '../../runtime/host/mounts.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { getLivingWorkload } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import type { FunctionDependencies } from './handler.ts';
import { restartFunctionSchema } from './schema.ts';
import { functionToView } from './view.ts';

/** Where the platform's own files lie in a function's pod. */
const ownPaths = ['/tmp', '/var/run/svc', '/runtime'];

/** `…/env`, `…/secrets` and `…/restart` of functions: what their pods have from their start on. */
export function settingsRoutes({ kube, clock }: Pick<FunctionDependencies, 'kube' | 'clock'>): Route[] {
  const patch = ({ metadata }: Stored<FunctionResource>, spec: Partial<FunctionSpec>) => {
    const { name, namespace = '', uid } = metadata;
    const { apiVersion, kind } = kinds.Function;
    return kube.mergePatch<FunctionResource>({ apiVersion, kind, namespace, name }, { metadata: { uid }, spec });
  };

  return [
    ...environmentRoutes<FunctionResource>(
      { kube, clock },
      {
        kind: 'Function',
        reach: 'pods have it once they start anew',
        isRestartPending: (found) => isRestartPending(kube, found),
        // Nobody may watch Secrets: this brings the controller.
        secretsChanged: async (found) => void (await patch(found, { secretsRevision: newId() })),
      },
    ),
    route({
      ...restartFunctionSchema,
      method: 'POST',
      path: '/projects/:project/functions/:function/restart',
      access: { project: 'deployer' },
      tag: 'functions',
      summary: 'Has the pods of a function start anew, one by one, with its variables, secrets and limits of now.',
      async handle({ params, query, log, session }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const found = await getLivingWorkload<FunctionResource>(kube, 'Function', environment, params.function);
        const { missing } = await functionEnvironment(kube, found);
        if (missing.length > 0) {
          throw new Problem(
            'not_ready',
            `The binding to ${missing.join(', ')} is not ready; see \`svc function bindings ${params.function}\`, and try again once it is.`,
            { details: { services: missing } },
          );
        }
        const restarted = await patch(found, { restartedAt: clock.now().toISOString() });
        const actor = sessionOf({ session }).email;
        log.info({ function: params.function, namespace: environment.namespace, actor }, 'function restarted');
        const [pendingRestart, exclusive] = await Promise.all([
          isRestartPending(kube, restarted),
          isExclusive(kube, restarted),
        ]);
        return { status: 200, body: functionToView(restarted, { now: clock.now(), exclusive, pendingRestart }) };
      },
    }),
  ];
}

/**
 * Whether pods run that were started with other settings than there are now. Names of environments are compared, which
 * carry a digest; what does not resolve, or is not there yet, is certainly not what runs.
 */
export async function isRestartPending(
  kube: Pick<KubeClient, 'get'>,
  found: Stored<FunctionResource>,
): Promise<boolean> {
  const { spec, status } = found;
  const running = status?.running;
  if (!running) return false;
  if (running.restartedAt !== spec.restartedAt) return true;
  if (running.memory !== canonicalBytes(spec.memory ?? functionMemory)) return true;
  if (running.cpu !== (spec.cpu === undefined ? undefined : canonicalCpu(spec.cpu))) return true;
  try {
    const { environment, missing } = await functionEnvironment(kube, found);
    return missing.length > 0 || environment?.name !== running.envSecret;
  } catch (error) {
    if (error instanceof Problem) return true;
    throw error;
  }
}

/**
 * Checks what a schema cannot say of a function's pods.
 * @throws Problem `invalid_value` for limits that are none, volumes that are not there or where the platform's own files
 * lie, and more than one pod over a volume that only one may have
 */
export async function checkPods(kube: Pick<KubeClient, 'get'>, namespace: string, spec: FunctionSpec): Promise<void> {
  const { volumes = [] } = spec;
  checkLimits(spec);
  const taken = volumes.find(({ path }) => ownPaths.some((own) => `${posix.normalize(path)}/`.startsWith(`${own}/`)));
  if (taken) {
    const message = `"${taken.path}" is where the platform's own files lie; mount the volume elsewhere, such as at /data.`;
    throw new Problem('invalid_value', message, { details: { field: 'volumes' } });
  }
  await checkMounts(kube, namespace, volumes);
  if (spec.trigger === 'cron' || !asksForSeveral(spec)) return;
  const exclusive = await exclusiveVolume(kube, namespace, volumes);
  if (exclusive !== undefined) throw oneReplicaOnly('Function', exclusive);
}

/** Whether a function mounts a volume that only one pod at a time may have. */
export async function isExclusive(
  kube: Pick<KubeClient, 'get'>,
  { metadata: { namespace = '' }, spec }: Stored<FunctionResource>,
): Promise<boolean> {
  return spec.trigger !== 'cron' && (await exclusiveVolume(kube, namespace, spec.volumes)) !== undefined;
}
