import type { GateChange, GateStatus } from '../../runtime/contracts/api/gate.ts';
import type { GateReplica } from '../../runtime/records/gate.ts';

/** Replicas report every 5 s; one that missed three reports is in trouble. */
const liveMs = 15_000;

/**
 * A replica that cannot reach the store denies everything 90 s after the last contact (spec.md §8). Until then, and a
 * little more for the way of its last report, it may serve what it knew.
 */
export const mayServeMs = 100_000;

/** A replica's position is newer than the change; close enough as long as the change is this young. */
const youngMs = 60_000;

const isLive = ({ silentMs }: GateReplica) => silentMs <= liveMs;
const hasApplied = ({ applied }: GateReplica, version: number) => applied !== null && applied >= version;

/** Whether nobody who is heard of is still to apply a change. */
export function isSettled(replicas: readonly GateReplica[], version: number): boolean {
  return replicas.every((replica) => !isLive(replica) || hasApplied(replica, version));
}

/** How far a change has come. */
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
        ...{ name, applied: hasApplied(replica, version), live: isLive(replica), seenAt: seenAt.toISOString() },
        ...(appliedAt &&
          (applied === version || after <= youngMs) && {
            appliedAt: appliedAt.toISOString(),
            // A change is dated by the begin of its transaction, which a failover may put after this.
            afterMs: Math.max(0, after),
          }),
      };
    }),
  };
}

/** Where every replica stands. */
export function statusOf(replicas: readonly GateReplica[], version: number): GateStatus {
  return {
    version,
    replicas: replicas.map((replica) => {
      const { name, applied, startedAt, seenAt, silentMs } = replica;
      const behind = Math.max(0, version - (applied ?? 0));
      return {
        name,
        state: !isLive(replica) ? 'silent' : applied === null ? 'loading' : behind > 0 ? 'behind' : 'current',
        ...(applied !== null && { applied, behind }),
        startedAt: startedAt.toISOString(),
        seenAt: seenAt.toISOString(),
        silentSeconds: Math.round(silentMs / 100) / 10,
      };
    }),
  };
}
