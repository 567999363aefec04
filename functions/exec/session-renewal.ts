import type { Logger } from 'pino';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { sessionAnnotation, sessionMs } from '../../runtime/workloads/run-sessions.ts';

/** An open session, whose run stays. */
export interface SessionRenewal {
  /** Ends the renewals. Resolves when none is in progress. */
  stop(): Promise<void>;
}

/**
 * Writes into the App, at intervals, that the session of a run is open. The controller deletes a run whose session no longer
 * does so, because its process was killed.
 * @param id of the run's request, which was written with the first renewal
 */
export function renewSession(
  { kube, clock, log }: { kube: Pick<KubeClient, 'mergePatch'>; clock: Clock; log: Logger },
  { apiVersion, kind, metadata: { name, namespace = '', uid } }: Stored<App>,
  id: string,
): SessionRenewal {
  const ended = new AbortController();
  const renew = async (): Promise<void> => {
    const annotations = { [sessionAnnotation(id)]: clock.now().toISOString() };
    // The uid keeps it from an app that was created again under this name.
    await kube.mergePatch<App>({ apiVersion, kind, namespace, name }, { metadata: { uid, annotations } });
  };
  const renewals = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(sessionMs.renew, ended.signal);
      // The next renewal comes long before the run expires.
      await renew().catch((error: unknown) => log.warn({ err: error, app: name, run: id }, 'session not renewed'));
    }
  };
  const finished = renewals().catch(() => undefined);
  return {
    async stop() {
      ended.abort();
      await finished;
    },
  };
}
