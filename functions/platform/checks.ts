import type { Pool } from 'pg';
import type { MetricsSources } from '../../runtime/api/metrics-sources.ts';
import { countWork } from '../../runtime/bus/work-table.ts';
import { platformState, type PlatformState } from '../../runtime/contracts/platform-state.ts';
import { readControllerReport, reportSeconds } from '../../runtime/records/controller-reports.ts';
import { listGateReplicas } from '../../runtime/records/gate.ts';
import { findLogDrain } from '../../runtime/records/log-drain.ts';

/** The state of one part of the platform; the message is for people. */
export interface ComponentState {
  status: 'on' | 'unhealthy' | 'disabled';
  message?: string;
}

/**
 * Checks one part; undefined for one that is not set up. An error counts as unhealthy.
 * @param isAdmin whether the message is for a platform admin, and may name machines and addresses
 */
export type Check = (isAdmin: boolean) => Promise<ComponentState | undefined>;

/** Checkers report every 5 s. */
const freshMs = 15_000;
/** Work that is due for longer waits for something that does not work. */
const oldWorkSeconds = 300;
/** A receiver of logs may be away for a moment. */
const failingMs = 60_000;
/** How long lines that the drain lost are reported. */
const droppedMs = 15 * 60_000;

const reasonForAdmins = 'platform admins see the reason with `svc platform log-drain show`';

/** The parts that are processes of their own, by the name that people see. */
const processes = {
  api: 'console-api',
  workers: 'svc-workers',
  checkers: 'svc-authz',
  interceptors: 'svc-interceptor',
  redis: 'svc-redis',
} as const;

/** The checks of what a cluster has besides the platform, and the figures of workloads need. */
export function sourceChecks(sources: MetricsSources): Readonly<Record<string, Check>> {
  return { 'metrics-api': () => sources.usage(), 'ingress-metrics': (isAdmin) => sources.ingress(isAdmin) };
}

/** The checks of every part of the platform, in the order in which they are shown, and the nodes of the cluster. */
export function createChecks({
  pool,
  controllersWork,
}: {
  pool: Pool;
  /** Whether the last report of svc-controllers is fresh and healthy. */
  controllersWork: () => Promise<boolean>;
}): { components: Readonly<Record<string, Check>>; nodes: () => Promise<PlatformState['nodes']> } {
  const readState = async (): Promise<PlatformState | undefined> => {
    const latest = await readControllerReport(pool);
    if (!latest || latest.ageSeconds > reportSeconds) return undefined;
    return platformState.safeParse(latest.report).data;
  };

  /** @param current how many replicas have what they need; default all that are ready */
  const replicas = async (name: string, current?: () => Promise<number>): Promise<ComponentState> => {
    const state = await readState();
    if (!state) return { status: 'unhealthy', message: 'unknown: the controllers do not report' };
    const process = state.processes.find((candidate) => candidate.name === name);
    if (!process) return { status: 'unhealthy', message: 'not installed' };
    // `disabled` is for what an admin can disable; the platform does not work without this.
    if (process.replicas === 0) return { status: 'unhealthy', message: 'scaled to 0 replicas' };
    const message = `${process.ready} of ${process.replicas} ready`;
    if (!current) return { status: process.ready < process.replicas ? 'unhealthy' : 'on', message };
    // Replicas that were replaced a moment ago have reported, too.
    const fresh = Math.min(await current(), process.replicas);
    const status = Math.min(process.ready, fresh) < process.replicas ? 'unhealthy' : 'on';
    return { status, message: `${message}, ${fresh} with current keys` };
  };

  /** One replica answers this; only the controllers know how many others there should be. */
  const api: Check = async () => {
    const state = await readState().catch(() => undefined);
    const process = state?.processes.find(({ name }) => name === processes.api);
    if (!process) return { status: 'on' };
    const ready = Math.max(process.ready, 1);
    return { status: ready < process.replicas ? 'unhealthy' : 'on', message: `${ready} of ${process.replicas} ready` };
  };

  const checkers: Check = () =>
    replicas(processes.checkers, async () => (await listGateReplicas(pool, freshMs)).length);

  const queues: Check = async () => {
    const counts = await countWork(pool);
    const pending = counts.reduce((sum, count) => sum + count.pending, 0);
    const [oldest] = counts.toSorted((a, b) => b.oldestDueSeconds - a.oldestDueSeconds);
    const seconds = Math.round(oldest?.oldestDueSeconds ?? 0);
    const waits = oldest && seconds > 0 ? `, ${oldest.kind} waits for ${seconds} s` : '';
    return { status: seconds > oldWorkSeconds ? 'unhealthy' : 'on', message: `${pending} pending${waits}` };
  };

  const logDrain: Check = async (isAdmin) => {
    const drain = await findLogDrain(pool);
    if (!drain) return undefined;
    const { failingSince, error, pendingLines, refusedLines, deletedLines, droppedAt } = drain;
    const isOlder = (time: Date | null, ms: number) => time !== null && Date.now() - time.getTime() > ms;
    const hasDropped = droppedAt !== null && !isOlder(droppedAt, droppedMs);
    const message = [
      `${pendingLines} lines pending`,
      ...(refusedLines + deletedLines > 0
        ? [`${refusedLines} refused, ${deletedLines} deleted before they were sent`]
        : []),
      // The error can name hosts of the network of the installation.
      ...((failingSince || hasDropped) && error !== null ? [isAdmin ? error : reasonForAdmins] : []),
    ].join('; ');
    return { status: hasDropped || isOlder(failingSince, failingMs) ? 'unhealthy' : 'on', message };
  };

  return {
    components: {
      api,
      database: async () => {
        await pool.query('SELECT 1');
        return { status: 'on' };
      },
      controllers: async () => ({ status: (await controllersWork()) ? 'on' : 'unhealthy' }),
      workers: () => replicas(processes.workers),
      checkers,
      interceptors: () => replicas(processes.interceptors),
      redis: () => replicas(processes.redis),
      queues,
      'log-drain': logDrain,
    },
    nodes: async () => (await readState())?.nodes ?? [],
  };
}
