import type { Logger } from 'pino';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, type Pod } from '../../runtime/contracts/pod.ts';
import { trafficReport, type FunctionTraffic } from '../../runtime/contracts/traffic-report.ts';
import type { Clock } from '../../runtime/domain/clock.ts';

/** Older reports are ignored. */
const reportMaxAgeMs = 10_000;
/** The pod's port named `admin`, default 8081. */
const adminPort = ({ spec }: Pod) =>
  spec.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === 'admin')?.containerPort ?? 8081;
/** A rate is the mean of this time: a burst of a second is no rate. */
const rateWindowMs = 6_000;
const fetchTimeoutMs = 1_000;

/** Fetches the report of one interceptor; rejects without a response within a second. */
export type FetchReport = (pod: Stored<Pod>) => Promise<unknown>;

/** Fetches over HTTP from the pod's IP address. */
export const fetchReport: FetchReport = async (pod) => {
  const response = await fetch(`http://${pod.status?.podIP}:${adminPort(pod)}/report`, {
    signal: AbortSignal.timeout(fetchTimeoutMs),
  });
  if (!response.ok) throw new Error(`the interceptor responded with ${response.status}`);
  return response.json();
};

/** Traffic of one function, over all live interceptors. */
export interface Traffic {
  inflight: number;
  /** Requests per second over the last seconds; an interceptor counts from its second report. */
  rate: number;
  /** The minimum of all; undefined when a live interceptor has no recent report or does not know the function. */
  idleMs: number | undefined;
}

export interface Reports {
  /** Fetches from every live interceptor. After a failure, the last report counts until it is too old. */
  refresh(interceptors: readonly Stored<Pod>[]): Promise<void>;
  traffic(functionId: string): Traffic;
  /** The functions with requests at an interceptor since its report before the last one. */
  active(): Set<string>;
}

interface TimedReport {
  functions: ReadonlyMap<string, FunctionTraffic>;
  active: readonly string[];
  takenAt: number;
}

/** The reports of one interceptor within the time of a rate, newest first. */
type ReportHistory = readonly [newest: TimedReport, ...older: TimedReport[]];

function rateOf([newest, ...older]: ReportHistory, functionId: string): number {
  const oldest = older.at(-1);
  if (!oldest) return 0;
  const requestsIn = ({ functions }: TimedReport) => functions.get(functionId)?.requests ?? 0;
  // A count begins again at 0 once the function has lost its route for a time.
  const requests = Math.max(0, requestsIn(newest) - requestsIn(oldest));
  return (requests * 1_000) / Math.max(1, newest.takenAt - oldest.takenAt);
}

export function createReports(options: { fetch: FetchReport; clock: Clock; log: Logger }): Reports {
  const { fetch, clock, log } = options;
  const reports = new Map<string, ReportHistory | undefined>();

  const fetchOne = async (pod: Stored<Pod>) => {
    const requestedAt = clock.monotonic();
    try {
      const report = trafficReport.parse(await fetch(pod));
      // Its age counts from the request, because later traffic may be missing from it.
      const functions = new Map(report.functions.map((entry) => [entry.id, entry]));
      const before = reports.get(pod.metadata.uid) ?? [];
      const older = before.filter(({ takenAt }) => takenAt >= requestedAt - rateWindowMs);
      const active = report.functions
        .filter(({ id, inflight, requests }) => inflight > 0 || requests !== before[0]?.functions.get(id)?.requests)
        .map(({ id }) => id);
      reports.set(pod.metadata.uid, [{ functions, active, takenAt: requestedAt }, ...older]);
    } catch (error) {
      log.warn({ err: error, pod: pod.metadata.name }, 'no report from interceptor');
    }
  };

  return {
    async refresh(interceptors) {
      // A pod without an IP address never got a request; a terminating one may still have some.
      const live = interceptors.filter((pod) => {
        const terminating = pod.metadata.deletionTimestamp !== undefined && pod.status?.phase === 'Running';
        return pod.status?.podIP !== undefined && (isPodLive(pod) || terminating);
      });
      const uids = new Set(live.map(({ metadata }) => metadata.uid));
      for (const uid of reports.keys()) if (!uids.has(uid)) reports.delete(uid);
      for (const uid of uids) if (!reports.has(uid)) reports.set(uid, undefined);
      await Promise.all(live.map(fetchOne));
    },
    active: () => new Set([...reports.values()].flatMap((history) => history?.[0].active ?? [])),
    traffic(functionId) {
      const oldest = clock.monotonic() - reportMaxAgeMs;
      const all = [...reports.values()].filter((history) => history !== undefined);
      const recent = all.filter(([{ takenAt }]) => takenAt >= oldest);
      const fresh = recent.map(([{ functions }]) => functions.get(functionId)).filter((entry) => entry !== undefined);
      const complete = reports.size > 0 && fresh.length === reports.size;
      return {
        inflight: fresh.reduce((sum, entry) => sum + entry.inflight, 0),
        rate: recent.reduce((sum, history) => sum + rateOf(history, functionId), 0),
        idleMs: complete ? Math.min(...fresh.map((entry) => entry.idleMs)) : undefined,
      };
    },
  };
}
