import type { Logger } from 'pino';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, type Pod } from '../../runtime/contracts/pod.ts';
import { trafficReport, type TrafficReport } from '../../runtime/contracts/traffic-report.ts';
import type { Clock } from '../../runtime/domain/clock.ts';

/** A report older than this proves nothing (design.md §7). */
const reportMaxAgeMs = 10_000;
/** The admin port of every process: where the pod says it is, or where it is by default. */
const adminPort = ({ spec }: Pod) =>
  spec.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === 'admin')?.containerPort ?? 8081;
const fetchTimeoutMs = 1_000;

/** Asks one interceptor for its report; rejects when it does not answer within a second. */
export type FetchReport = (pod: Stored<Pod>) => Promise<unknown>;

/** Over HTTP, at the pod's own address. */
export const fetchReport: FetchReport = async (pod) => {
  const response = await fetch(`http://${pod.status?.podIP}:${adminPort(pod)}/report`, {
    signal: AbortSignal.timeout(fetchTimeoutMs),
  });
  if (!response.ok) throw new Error(`the report was answered with ${response.status}`);
  return response.json();
};

/** Traffic of one function, over all live interceptors. */
export interface Traffic {
  inflight: number;
  /** The least of all; undefined when a live interceptor has no fresh report or does not know the function. */
  idleMs: number | undefined;
}

export interface Reports {
  /** Asks every live interceptor. A failed one keeps its last report, which ages. */
  refresh(interceptors: readonly Stored<Pod>[]): Promise<void>;
  traffic(functionId: string): Traffic;
}

interface Received {
  report: TrafficReport;
  receivedAt: number;
}

export function createReports(options: { fetch: FetchReport; clock: Clock; log: Logger }): Reports {
  const { fetch, clock, log } = options;
  const received = new Map<string, Received | undefined>();

  const ask = async (pod: Stored<Pod>) => {
    const askedAt = clock.monotonic();
    try {
      const report = trafficReport.parse(await fetch(pod));
      // As old as the question: what came after it may not be in the answer.
      received.set(pod.metadata.uid, { report, receivedAt: askedAt });
    } catch (error) {
      log.warn({ err: error, pod: pod.metadata.name }, 'interceptor gave no report');
    }
  };

  return {
    async refresh(interceptors) {
      // One without an address never got a request; one that is going still finishes some.
      const live = interceptors.filter((pod) => {
        const going = pod.metadata.deletionTimestamp !== undefined && pod.status?.phase === 'Running';
        return pod.status?.podIP !== undefined && (isPodLive(pod) || going);
      });
      const uids = new Set(live.map(({ metadata }) => metadata.uid));
      for (const uid of received.keys()) if (!uids.has(uid)) received.delete(uid);
      for (const uid of uids) if (!received.has(uid)) received.set(uid, undefined);
      await Promise.all(live.map(ask));
    },
    traffic(functionId) {
      const oldest = clock.monotonic() - reportMaxAgeMs;
      const entries = [...received.values()].map((entry) =>
        entry && entry.receivedAt >= oldest ? entry.report.functions.find(({ id }) => id === functionId) : undefined,
      );
      const known = entries.filter((entry) => entry !== undefined);
      const complete = entries.length > 0 && known.length === entries.length;
      return {
        inflight: known.reduce((sum, entry) => sum + entry.inflight, 0),
        idleMs: complete ? Math.min(...known.map((entry) => entry.idleMs)) : undefined,
      };
    },
  };
}
