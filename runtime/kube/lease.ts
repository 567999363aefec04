import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { managedLabels } from '../domain/labels.ts';
import { isKubeError, type KubeClient } from './kube-client.ts';

/** Others may take a Lease that was not renewed for this long, by their own clock. */
const durationMs = 15_000;
/** The holder renews this often. */
const renewMs = 2_000;
/** A holder that could not renew for this long stops, well before others may take over. */
const deadlineMs = 10_000;
/** The others look this often. */
const lookMs = 2_000;

/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/ */
interface Lease extends KubeObject {
  apiVersion: 'coordination.k8s.io/v1';
  kind: 'Lease';
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export interface LeaseOptions {
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  namespace: string;
  name: string;
  /** Unique among the candidates and their lives, such as the pod's name. */
  identity: string;
  clock: Clock;
  log: Logger;
  /** Called once, when this process becomes the leader. */
  onElected: () => void;
  /** Called once, when it may no longer be the leader. It does not stand again: the process should end. */
  onLost: () => void;
}

/**
 * Leader election on a Lease. At most one leader works at a time as long as processes run at a normal pace; a process
 * that was suspended may still have one write under way, so a Lease is no fence (design.md §4): every write is
 * deterministic or preconditioned as well.
 */
export interface LeaderLease {
  start(): void;
  /** Stops, and gives the Lease back so that the next leader need not wait. Call when all work has ended. */
  stop(): Promise<void>;
  /** Whether this process is the leader now, by the last renewal that was answered. */
  isLeader(): boolean;
}

export function createLease(options: LeaseOptions): LeaderLease {
  const { kube, namespace, name, identity, clock, onElected, onLost } = options;
  const log = options.log.child({ lease: name, identity });
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let held: Stored<Lease> | undefined;
  /** When the last successful renewal was sent. */
  let renewedAt = Number.NEGATIVE_INFINITY;
  /** What a candidate saw, and since when it stands still. */
  let observed: { version: string; since: number } | undefined;

  const specAt = (transitions: number, acquireTime: string): Lease['spec'] => ({
    holderIdentity: identity,
    leaseDurationSeconds: durationMs / 1000,
    acquireTime,
    renewTime: microTime(clock.now()),
    leaseTransitions: transitions,
  });

  const acquire = async (): Promise<Stored<Lease> | undefined> => {
    const now = microTime(clock.now());
    const live = await kube.get<Lease>(kinds.Lease, name, namespace);
    if (!live) {
      const metadata = { name, namespace, labels: managedLabels() };
      return kube.create<Lease>({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata,
        spec: specAt(0, now),
      });
    }
    const { resourceVersion } = live.metadata;
    if (observed?.version !== resourceVersion) observed = { version: resourceVersion, since: clock.monotonic() };
    const { holderIdentity = '', leaseDurationSeconds = durationMs / 1000, leaseTransitions = 0 } = live.spec;
    const expired = clock.monotonic() - observed.since >= leaseDurationSeconds * 1000;
    if (holderIdentity !== '' && holderIdentity !== identity && !expired) return undefined;
    return kube.replace({ ...live, spec: specAt(leaseTransitions + 1, now) });
  };

  const renew = async (lease: Stored<Lease>): Promise<Stored<Lease>> =>
    kube.replace({ ...lease, spec: { ...lease.spec, renewTime: microTime(clock.now()) } });

  const stand = async () => {
    while (!stopping.signal.aborted && !held) {
      const sentAt = clock.monotonic();
      try {
        held = await acquire();
        renewedAt = sentAt;
      } catch (error) {
        // Another candidate was faster.
        if (!isKubeError(error, 409)) log.warn({ err: error }, 'lease cannot be read or taken');
      }
      if (!held) await clock.sleep(lookMs * (0.9 + 0.2 * Math.random()), stopping.signal).catch(() => undefined);
    }
  };

  const hold = async () => {
    while (held && !stopping.signal.aborted) {
      await clock.sleep(renewMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      const sentAt = clock.monotonic();
      // Suspended for too long: somebody else may lead by now.
      if (sentAt - renewedAt >= deadlineMs) break;
      try {
        held = await withDeadline(renew(held), renewedAt + deadlineMs);
        renewedAt = sentAt;
      } catch (error) {
        if (isKubeError(error, 409) && !(await stillOurs())) break;
        if (clock.monotonic() - renewedAt >= deadlineMs) break;
        log.warn({ err: error }, 'lease not renewed');
      }
    }
  };

  /** After a conflict: somebody touched the Lease (kubectl), or took it. */
  const stillOurs = async (): Promise<boolean> => {
    const live = await kube.get<Lease>(kinds.Lease, name, namespace).catch(() => undefined);
    if (live?.spec.holderIdentity !== identity) return live === undefined;
    held = live;
    return true;
  };

  const withDeadline = async <T>(call: Promise<T>, at: number): Promise<T> => {
    const done = new AbortController();
    const late = clock.sleep(Math.max(0, at - clock.monotonic()), done.signal).then(() => {
      throw new Error('the lease was not renewed in time');
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([call, late]);
    } finally {
      done.abort();
      call.catch(() => undefined);
    }
  };

  const run = async () => {
    await stand();
    if (!held) return;
    log.info('leading');
    onElected();
    await hold();
    if (stopping.signal.aborted) return;
    held = undefined;
    log.error('leadership lost');
    onLost();
  };

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the lease was stopped'));
      await running;
      const last = held;
      held = undefined;
      if (!last) return;
      const { leaseTransitions = 0 } = last.spec;
      const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now()), leaseTransitions };
      // Whoever comes next waits for the Lease to run out instead.
      await kube.replace({ ...last, spec }).catch((error: unknown) => log.warn({ err: error }, 'lease not given back'));
    },
    isLeader: () => held !== undefined && clock.monotonic() - renewedAt < deadlineMs,
  };
}

/** MicroTime needs exactly six digits. */
function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
