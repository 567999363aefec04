import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { podFault, type Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { appLabel, managedByLabel, managedByValue, systemNamespace } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { InstallError } from './install-error.ts';

interface CustomResourceDefinition extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}

/** What a Deployment and a StatefulSet have in common, as far as their roll-out goes. */
interface Rollout extends KubeObject {
  spec: { replicas?: number };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
  };
}

/** What every wait of an installation needs. */
export interface Waiting {
  kube: KubeClient;
  clock: Clock;
  /** On the monotonic clock. */
  deadline: number;
  /** One line of progress. */
  log: (line: string) => void;
}

/** Asking the API server twice a second costs it nothing, and a watch would need more code than this command is worth. */
export const pauseMs = 500;

/** Waits until the API server serves these CRDs. @throws InstallError at the deadline */
export async function untilEstablished(names: readonly string[], { kube, clock, deadline }: Waiting): Promise<void> {
  for (const name of names) {
    for (;;) {
      const definition = await kube.get<CustomResourceDefinition>(kinds.CustomResourceDefinition, name);
      const established = definition?.status?.conditions?.some(
        ({ type, status }) => type === 'Established' && status === 'True',
      );
      if (established) break;
      if (clock.monotonic() > deadline) throw new InstallError(`The cluster does not establish ${name} in time.`);
      await clock.sleep(pauseMs);
    }
  }
}

/** Waits until every pod of the platform runs its newest version and is ready. @throws InstallError at the deadline */
export async function untilReady(names: readonly string[], waiting: Waiting): Promise<void> {
  const { kube, clock, deadline, log } = waiting;
  let said = '';
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
        `Not everything came up in time: ${lines.join(', ')}.`,
        `Look at \`kubectl -n ${systemNamespace} describe pods\`, then run the same command again: it goes on where it stopped.`,
      );
    }
    const line = `waiting for ${lines.join(', ')}`;
    if (line !== said) log(line);
    said = line;
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

/** As `kubectl rollout status` judges it. */
function isRolledOut(rollout: Stored<Rollout> | undefined): boolean {
  if (!rollout) return false;
  const { replicas: wanted = 1 } = rollout.spec;
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, readyReplicas = 0 } = rollout.status ?? {};
  const seen = observedGeneration >= (rollout.metadata.generation ?? 0);
  return seen && updatedReplicas === wanted && replicas === wanted && readyReplicas === wanted;
}

/** Component → why one of its pods does not come up. */
async function podFaults(kube: KubeClient): Promise<Map<string, string>> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace: systemNamespace, labelSelector: appLabel });
  const faults = new Map<string, string>();
  for (const pod of items) {
    const fault = podFault(pod);
    const component = pod.metadata.labels?.[appLabel];
    if (!fault || component === undefined) continue;
    const said = fault.message === undefined ? '' : `, ${fault.message.split('\n')[0]?.slice(0, 200)}`;
    faults.set(component, `${fault.reason}${said}`);
  }
  return faults;
}
