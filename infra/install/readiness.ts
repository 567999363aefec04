import type { V1CustomResourceDefinition, V1Deployment } from '@kubernetes/client-node';
import type { BuiltIn, Stored } from '../../runtime/contracts/kubernetes.ts';
import { podFault, type Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { appLabel, managedByLabel, managedByValue, systemNamespace } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { InstallError } from './install-error.ts';

/** The fields of a rollout that a Deployment and a StatefulSet share. */
type Rollout = BuiltIn<V1Deployment, 'spec'>;

/** The input of an installation's waits. */
export interface WaitOptions {
  kube: KubeClient;
  clock: Clock;
  /** A time on the monotonic clock. */
  deadline: number;
  /** Prints one line of progress. */
  log: (line: string) => void;
}

/** The pause between two requests. Polling is simpler than a watch, and cheap at this rate. */
export const pauseMs = 500;

/** Waits until the API server serves these custom resources. @throws InstallError at the deadline */
export async function waitUntilEstablished(
  names: readonly string[],
  { kube, clock, deadline }: WaitOptions,
): Promise<void> {
  for (const name of names) {
    for (;;) {
      const definition = await kube.get<BuiltIn<V1CustomResourceDefinition>>(kinds.CustomResourceDefinition, name);
      const established = definition?.status?.conditions?.some(
        ({ type, status }) => type === 'Established' && status === 'True',
      );
      if (established) break;
      if (clock.monotonic() > deadline)
        throw new InstallError(`The API server did not start serving ${name} in time.`, 'Run the same command again.', {
          reason: 'timeout',
        });
      await clock.sleep(pauseMs);
    }
  }
}

/** Waits until all pods of the platform are updated and ready. @throws InstallError at the deadline */
export async function waitUntilReady(names: readonly string[], options: WaitOptions): Promise<void> {
  const { kube, clock, deadline, log } = options;
  let lastLine = '';
  for (;;) {
    const rollouts = await listRollouts(kube);
    const pending = names.filter((name) => !isRolledOut(rollouts.get(name)));
    if (pending.length === 0) return;
    const faults = await podFaults(kube);
    const lines = pending.map((name) => {
      const rollout = rollouts.get(name);
      const ready = `${rollout?.status?.readyReplicas ?? 0} of ${rollout?.spec.replicas ?? 1} ready`;
      const fault = faults.get(name);
      return `${name} (${ready}${fault === undefined ? '' : `: ${fault}`})`;
    });
    if (clock.monotonic() > deadline) {
      throw new InstallError(
        `The platform was not ready in time: ${lines.join(', ')}.`,
        `Find the cause with \`kubectl -n ${systemNamespace} describe pods\`, then run the same command again to continue.`,
        { reason: 'timeout' },
      );
    }
    const line = `waiting for ${lines.join(', ')}`;
    if (line !== lastLine) log(line);
    lastLine = line;
    await clock.sleep(pauseMs);
  }
}

async function listRollouts(kube: KubeClient): Promise<Map<string, Stored<Rollout>>> {
  const selection = { namespace: systemNamespace, labelSelector: `${managedByLabel}=${managedByValue}` };
  const lists = await Promise.all([
    kube.list<Rollout>(kinds.Deployment, selection),
    kube.list<Rollout>(kinds.StatefulSet, selection),
  ]);
  return new Map(lists.flatMap(({ items }) => items.map((item) => [item.metadata.name, item])));
}

/** The rule of `kubectl rollout status`. */
function isRolledOut(rollout: Stored<Rollout> | undefined): boolean {
  if (!rollout) return false;
  const { replicas: desired = 1 } = rollout.spec;
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, readyReplicas = 0 } = rollout.status ?? {};
  const isObserved = observedGeneration >= (rollout.metadata.generation ?? 0);
  return isObserved && updatedReplicas === desired && replicas === desired && readyReplicas === desired;
}

/** Why a pod cannot start, by component. */
async function podFaults(kube: KubeClient): Promise<Map<string, string>> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace: systemNamespace, labelSelector: appLabel });
  const faults = new Map<string, string>();
  for (const pod of items) {
    const fault = podFault(pod);
    const component = pod.metadata.labels?.[appLabel];
    if (!fault || component === undefined) continue;
    const detail = fault.message === undefined ? '' : `, ${fault.message.split('\n')[0]?.slice(0, 200)}`;
    faults.set(component, `${fault.reason}${detail}`);
  }
  return faults;
}
