import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { managedLabels } from '../domain/labels.ts';
import { isKubeError, type KubeClient } from './kube-client.ts';

/** Other candidates take over a Lease that was not renewed for this long, by their own clock. */
const durationMs = 15_000;
/** Interval at which the holder renews the Lease. */
const renewMs = 2_000;
/** A holder that could not renew for this long stops leading, before others can take over. */
const deadlineMs = 10_000;
/** Interval at which other candidates read the Lease. */
const pollMs = 2_000;

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
  /** Unique for each process, such as the pod's name. */
  identity: string;
  clock: Clock;
  log: Logger;
  /** Called each time this process becomes the leader. */
  onElected: () => void;
  /**
   * Called each time the leadership may be lost, when another process may lead already. Resolves once the leader's work has
   * ended: the process then becomes a candidate again.
   */
  onLost: () => Promise<void>;
}

/**
 * Leader election on a Lease. At most one process leads at a time while processes are not suspended. A suspended process
 * may still send one write after it lost the Lease, so that every write must be deterministic or preconditioned as well.
 */
export interface LeaderLease {
  start(): void;
  /** Releases the Lease, so that the next leader need not wait. Call it after all work has ended. */
  stop(): Promise<void>;
  /** Whether this process leads, by the last successful renewal. */
  isLeader(): boolean;
}

export function createLease(options: LeaseOptions): LeaderLease {
  const { kube, namespace, name, identity, clock, onElected, onLost } = options;
  const log = options.log.child({ lease: name, identity });
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let lease: Stored<Lease> | undefined;
  /** When the last successful renewal was sent. */
  let renewedAt = Number.NEGATIVE_INFINITY;
  /** The version that a candidate last read, and since when it is unchanged. */
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

  const campaign = async () => {
    while (!stopping.signal.aborted && !lease) {
      const sentAt = clock.monotonic();
      try {
        lease = await acquire();
        renewedAt = sentAt;
      } catch (error) {
        // Another candidate was faster.
        if (!isKubeError(error, 409)) log.warn({ err: error }, 'cannot read or acquire the lease');
      }
      if (!lease) await clock.sleep(pollMs * (0.9 + 0.2 * Math.random()), stopping.signal).catch(() => undefined);
    }
  };

  const hold = async () => {
    while (lease && !stopping.signal.aborted) {
      await clock.sleep(renewMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      const sentAt = clock.monotonic();
      // After a long suspension, another process may lead.
      if (sentAt - renewedAt >= deadlineMs) break;
      try {
        lease = await withDeadline(renew(lease), renewedAt + deadlineMs);
        renewedAt = sentAt;
      } catch (error) {
        if (isKubeError(error, 409) && !(await isStillOurs())) break;
        if (clock.monotonic() - renewedAt >= deadlineMs) break;
        log.warn({ err: error }, 'cannot renew the lease');
      }
    }
  };

  /** After a conflict: the Lease was edited, for example with kubectl, or another process acquired it. */
  const isStillOurs = async (): Promise<boolean> => {
    const live = await kube.get<Lease>(kinds.Lease, name, namespace).catch(() => undefined);
    if (live?.spec.holderIdentity !== identity) return live === undefined;
    lease = live;
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
    for (;;) {
      await campaign();
      if (!lease) return;
      log.info('leading');
      onElected();
      await hold();
      if (stopping.signal.aborted) return;
      lease = undefined;
      log.error('leadership lost');
      await onLost();
    }
  };

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the lease was stopped'));
      await running;
      const last = lease;
      lease = undefined;
      if (!last) return;
      const { leaseTransitions = 0 } = last.spec;
      const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now()), leaseTransitions };
      // After a failure the next leader waits until the Lease expires.
      await kube
        .replace({ ...last, spec })
        .catch((error: unknown) => log.warn({ err: error }, 'cannot release the lease'));
    },
    isLeader: () => lease !== undefined && clock.monotonic() - renewedAt < deadlineMs,
  };
}

/** MicroTime needs exactly six digits. */
function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
