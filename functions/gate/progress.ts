import type { GateChange, GateStatus } from '../../runtime/contracts/api/gate.ts';
import type { GateReplica } from '../../runtime/records/gate.ts';

/** Replicas report every 5 s; after three missing reports, a replica counts as silent. */
const liveMs = 15_000;

/**
 * A replica that reported within this time may allow requests: without contact to PostgreSQL it denies everything after 90 s
 * (docs/reference/gate.md#freshness). The rest is a margin for its last report.
 */
export const replicaTimeoutMs = 100_000;

/** Up to this age of a change, the time of a later position is a good estimate of when it was applied. */
const recentMs = 60_000;

const isLive = ({ silentMs }: GateReplica) => silentMs <= liveMs;
const hasApplied = ({ applied }: GateReplica, version: number) => applied !== null && applied >= version;

/** Whether all live replicas have applied a change. */
export function isSettled(replicas: readonly GateReplica[], version: number): boolean {
  return replicas.every((replica) => !isLive(replica) || hasApplied(replica, version));
}

/** The progress of a change. */
export function progressOf(replicas: readonly GateReplica[], version: number, at: Date): GateChange {
  return {
    version,
    at: at.toISOString(),
    total: replicas.length,
    applied: replicas.filter((replica) => hasApplied(replica, version)).length,
    replicas: replicas.map((replica) => {
      const { name, applied, appliedAt, seenAt } = replica;
      const after = appliedAt && hasApplied(replica, version) ? appliedAt.getTime() - at.getTime() : Infinity;
      return {
        name,
        applied: hasApplied(replica, version),
        live: isLive(replica),
        seenAt: seenAt.toISOString(),
        ...(appliedAt &&
          (applied === version || after <= recentMs) && {
            appliedAt: appliedAt.toISOString(),
            // A change has the start time of its transaction, which can be later after a failover.
            afterMs: Math.max(0, after),
          }),
      };
    }),
  };
}

/** The position of every replica. */
export function statusOf(replicas: readonly GateReplica[], version: number): GateStatus {
  return {
    version,
    replicas: replicas.map((replica) => {
      const { name, applied, sharesRates, startedAt, seenAt, silentMs } = replica;
      const behind = Math.max(0, version - (applied ?? 0));
      return {
        name,
        state: !isLive(replica) ? 'silent' : applied === null ? 'loading' : behind > 0 ? 'behind' : 'current',
        ...(applied !== null && { applied, behind }),
        ...(sharesRates !== null && { sharesRates }),
        startedAt: startedAt.toISOString(),
        seenAt: seenAt.toISOString(),
        silentSeconds: Math.round(silentMs / 100) / 10,
      };
    }),
  };
}
