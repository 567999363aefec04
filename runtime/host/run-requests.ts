import { randomBytes } from 'node:crypto';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { runRequestsMax, type RunRequest } from '../contracts/resources/run.ts';
import { Problem } from '../domain/problem.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';

/** Writers of one workload that come between read and write. */
const maxRounds = 10;

interface Runnable extends KubeObject {
  spec: { runRequests?: RunRequest[] | undefined };
}

/**
 * Writes down that a run is wanted: one write, after which the controller makes exactly one (decision 0007).
 * @param find reads the workload anew for each try @returns the request's id
 * @throws Problem `too_many_requests` while too many wait, `conflict` when others keep writing
 */
export async function requestRun<T extends Runnable>(
  kube: Pick<KubeClient, 'replace'>,
  find: () => Promise<Stored<T>>,
  { at, by }: { at: Date; by: string },
): Promise<string> {
  const id = randomBytes(5).toString('hex');
  for (let round = 1; ; round++) {
    const found = await find();
    const { runRequests = [] } = found.spec;
    const who = `the ${found.kind.toLowerCase()} "${found.metadata.name}"`;
    if (runRequests.length >= runRequestsMax) {
      throw new Problem(
        'too_many_requests',
        `${runRequests.length} runs of ${who} wait to be started; try again once they are.`,
      );
    }
    const request = { id, at: at.toISOString(), by };
    try {
      await kube.replace({ ...found, spec: { ...found.spec, runRequests: [...runRequests, request] } });
      return id;
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
      if (round === maxRounds) {
        const message = `${who[0]?.toUpperCase()}${who.slice(1)} is being changed by others; try again.`;
        throw new Problem('conflict', message, { cause: error });
      }
    }
  }
}
