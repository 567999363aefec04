import { randomBytes } from 'node:crypto';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { runRequestsMax, type RunRequest } from '../contracts/resources/run.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { withoutSessions } from '../workloads/run-sessions.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

interface Runnable extends KubeObject {
  spec: { runRequests?: RunRequest[] | undefined; runStops?: string[] | undefined };
}

/** A new id of a run request: ten hexadecimal digits. */
export function newRunId(): string {
  return randomBytes(5).toString('hex');
}

/**
 * Requests a run with one write, after which the controller starts exactly one (decision 0007).
 * @param find reads the workload again for each attempt
 * @param options.id the request's id; default: a new one
 * @param options.complete adds what the user asked for besides a run, such as its command; default: nothing
 * @param options.annotations are written on the workload with the request; default: none
 * @returns the request's id
 * @throws Problem `too_many_requests` while too many runs wait, `conflict` while other writers keep changing the workload
 */
export async function requestRun<T extends Runnable>(
  kube: Pick<KubeClient, 'replace'>,
  find: () => Promise<Stored<T>>,
  {
    at,
    by,
    id = newRunId(),
    complete = (request) => request,
    annotations,
  }: {
    at: Date;
    by: string;
    id?: string;
    complete?: (request: RunRequest) => RunRequest;
    annotations?: Readonly<Record<string, string>>;
  },
): Promise<string> {
  await retryOnConflict(find, (workload) => {
    const { runRequests = [], runStops = [] } = workload.spec;
    const waiting = runRequests.length + runStops.length;
    if (waiting >= runRequestsMax) {
      throw new Problem(
        'too_many_requests',
        `The ${workload.kind.toLowerCase()} "${workload.metadata.name}" has ${waiting} runs waiting to start or to stop. Try again in a moment.`,
      );
    }
    const request = complete({ id, at: at.toISOString(), by });
    return kube.replace({
      ...workload,
      ...(annotations && {
        metadata: { ...workload.metadata, annotations: { ...workload.metadata.annotations, ...annotations } },
      }),
      spec: { ...workload.spec, runRequests: [...runRequests, request] },
    });
  });
  return id;
}

/**
 * Asks the controller to stop and delete a run of an app, whether it has started it or not.
 * @param find reads the app again for each attempt
 * @throws Problem `conflict` while other writers keep changing the app
 */
export async function stopRun(
  kube: Pick<KubeClient, 'replace'>,
  find: () => Promise<Stored<App>>,
  id: string,
): Promise<void> {
  await retryOnConflict(find, async (app) => {
    const { runRequests, runStops = [], ...spec } = app.spec;
    if (runStops.includes(id)) return;
    const waiting = runRequests?.filter((request) => request.id !== id) ?? [];
    await kube.replace({
      ...app,
      metadata: { ...app.metadata, annotations: withoutSessions(app, [id]) },
      spec: { ...spec, ...(waiting.length > 0 && { runRequests: waiting }), runStops: [...runStops, id] },
    });
  });
}
