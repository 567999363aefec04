import { posix } from 'node:path';
import { functionView } from '../../runtime/contracts/api/functions.ts';
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
import { checkMounts } from '../../runtime/api/mounts.ts';
import { checkQuota } from '../../runtime/api/quota.ts';
import type { ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { secretRoutes } from '../../runtime/api/secret-routes.ts';
import { variableRoutes, type VariableKind } from '../../runtime/api/variable-routes.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import { boundEnvironment } from '../../runtime/workloads/bound-environment.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { functionToView } from './view.ts';

/** Paths of the platform's files in a function's pod. */
const reservedPaths = ['/tmp', '/var/run/svc', '/runtime'];

/** `/env`, `/secrets` and `/restart` of a function. */
export function settingsRoutes(
  functions: ObjectRoutes<FunctionResource>,
  { kube, clock }: Pick<FunctionDependencies, 'kube' | 'clock'>,
): Route[] {
  const patch = ({ metadata }: Stored<FunctionResource>, spec: Partial<FunctionSpec>) => {
    const { name, namespace = '', uid } = metadata;
    const { apiVersion, kind } = kinds.Function;
    return kube.mergePatch<FunctionResource>({ apiVersion, kind, namespace, name }, { metadata: { uid }, spec });
  };
  const variables: VariableKind<FunctionResource> = {
    phrase: 'a function',
    effect: 'after they restart',
    isRestartPending: (object) => isRestartPending(kube, object),
    // No controller may watch Secrets, so a change of the spec starts a reconcile.
    onSecretChange: async (object) => void (await patch(object, { secretsRevision: newId() })),
  };

  return [
    ...variableRoutes(functions, { kube }, variables),
    ...secretRoutes(functions, { kube, clock }, variables),
    functions.route({
      method: 'POST',
      path: '/restart',
      access: { project: 'deployer', scope: 'deploy' },
      summary: 'Restarts a function’s pods, one by one, with the latest variables, secrets and limits.',
      audit: 'function.restart',
      replies: { 200: functionView },
      async handle({ name, findLiving }) {
        const object = await findLiving();
        const { missing } = await boundEnvironment(kube, object);
        if (missing.length > 0) {
          throw new Problem(
            'not_ready',
            `The binding to ${missing.join(', ')} is not ready. See \`svc function bindings ${name}\`, and try again when it is.`,
            { details: { services: missing } },
          );
        }
        const restarted = await patch(object, { restartedAt: clock.now().toISOString() });
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
 * Whether the running pods were started with other variables, secrets or limits. Compares the names of the environment
 * Secrets, which contain a digest; variables that do not resolve cannot be running.
 */
export async function isRestartPending(
  kube: Pick<KubeClient, 'get'>,
  object: Stored<FunctionResource>,
): Promise<boolean> {
  const { spec, status } = object;
  const running = status?.running;
  if (!running) return false;
  if (running.restartedAt !== spec.restartedAt) return true;
  if (running.memory !== canonicalBytes(spec.memory ?? functionMemory)) return true;
  if (running.cpu !== (spec.cpu === undefined ? undefined : canonicalCpu(spec.cpu))) return true;
  try {
    const { environment, missing } = await boundEnvironment(kube, object);
    return missing.length > 0 || environment?.name !== running.envSecret;
  } catch (error) {
    if (error instanceof Problem) return true;
    throw error;
  }
}

/**
 * Checks limits, volumes and the number of replicas, which a schema cannot check.
 * @throws Problem `invalid_value`, also for more than one replica with a volume that only one pod can mount
 */
export async function checkPods(kube: Pick<KubeClient, 'get'>, namespace: string, spec: FunctionSpec): Promise<void> {
  const { volumes = [] } = spec;
  checkLimits(spec);
  const conflict = volumes.find(({ path }) =>
    reservedPaths.some((reserved) => `${posix.normalize(path)}/`.startsWith(`${reserved}/`)),
  );
  if (conflict) {
    const message = `"${conflict.path}" is reserved by the platform. Mount the volume elsewhere, such as at /data.`;
    throw new Problem('invalid_value', message, { details: { field: 'volumes' } });
  }
  await checkMounts(kube, namespace, volumes);
  if (spec.trigger === 'cron' || !asksForSeveral(spec)) return;
  const exclusive = await exclusiveVolume(kube, namespace, volumes);
  if (exclusive !== undefined) throw oneReplicaOnly('Function', exclusive);
}

/** Refuses pods that the environment has no room for. @throws Problem `invalid_value` */
export async function checkFits(
  kube: Pick<KubeClient, 'get'>,
  environment: Environment,
  { memory = functionMemory, minReplicas = 1 }: FunctionSpec,
): Promise<void> {
  await checkQuota(kube, environment, { memory, replicas: Math.max(1, minReplicas) });
}

/** Whether a function mounts a volume that only one pod at a time can mount. */
export async function isExclusive(
  kube: Pick<KubeClient, 'get'>,
  { metadata: { namespace = '' }, spec }: Stored<FunctionResource>,
): Promise<boolean> {
  return spec.trigger !== 'cron' && (await exclusiveVolume(kube, namespace, spec.volumes)) !== undefined;
}
