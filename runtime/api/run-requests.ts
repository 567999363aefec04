import { randomBytes } from 'node:crypto';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { runRequestsMax, type RunRequest } from '../contracts/resources/run.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

interface Runnable extends KubeObject {
  spec: { runRequests?: RunRequest[] | undefined };
}

/**
 * Requests a run with one write, after which the controller starts exactly one (decision 0007).
 * @param find reads the workload again for each attempt
 * @param options.complete adds what the user asked for besides a run, such as its command; default: nothing
 * @returns the request's id
 * @throws Problem `too_many_requests` while too many runs wait, `conflict` while other writers keep changing the workload
 */
export async function requestRun<T extends Runnable>(
  kube: Pick<KubeClient, 'replace'>,
  find: () => Promise<Stored<T>>,
  { at, by, complete = (request) => request }: { at: Date; by: string; complete?: (request: RunRequest) => RunRequest },
): Promise<string> {
  const id = randomBytes(5).toString('hex');
  await retryOnConflict(find, (workload) => {
    const { runRequests = [] } = workload.spec;
    if (runRequests.length >= runRequestsMax) {
      throw new Problem(
        'too_many_requests',
        `The ${workload.kind.toLowerCase()} "${workload.metadata.name}" has ${runRequests.length} runs waiting to start. Try again when they have started.`,
      );
    }
    const request = complete({ id, at: at.toISOString(), by });
    return kube.replace({ ...workload, spec: { ...workload.spec, runRequests: [...runRequests, request] } });
  });
  return id;
}
