import { refOf } from '../../../runtime/kube/children.ts';
import { isKubeError } from '../../../runtime/kube/kube-client.ts';
import { timestamp } from '../controllers/objects.ts';
import { retry, type PodContext } from './pod-context.ts';
import type { NodePod } from './pod-spec.ts';
import { podAddress } from './program.ts';
import { sameStatus, statusOf } from './status.ts';

/** Writes a pod's status to the API server. */
export interface StatusWriter {
  /** Schedules a write. Changes that are made together are written together. */
  report: () => void;
  /** Writes the current status and waits until it is written. */
  flush: () => Promise<void>;
}

export function createStatusWriter(context: PodContext): StatusWriter {
  const { runtime, silencing, log } = context;
  const startTime = context.pod.status?.startTime ?? timestamp(runtime.clock.now());
  let writing: Promise<void> | undefined;
  let isDirty = false;

  const writeStatus = async () => {
    const { pod, slots } = context;
    const { uid } = pod.metadata;
    const now = timestamp(runtime.clock.now());
    const status = statusOf(slots, { address: podAddress, startTime, now, before: pod.status });
    if (sameStatus(pod.status, status)) return;
    try {
      context.pod = await runtime.kube.mergePatch<NodePod>(refOf(pod), { metadata: { uid }, status }, 'status');
    } catch (error) {
      // 409: another pod has this name now.
      if (!isKubeError(error, 409)) throw error;
    }
  };
  const writeAll = async () => {
    await Promise.resolve();
    while (isDirty && !silencing.signal.aborted) {
      isDirty = false;
      await retry(context, silencing.signal, writeStatus, (error) =>
        log.warn({ err: error }, 'pod status not written'),
      );
    }
    writing = undefined;
  };
  const report = () => {
    isDirty = true;
    writing ??= writeAll();
  };

  return {
    report,
    async flush() {
      report();
      await writing;
    },
  };
}
