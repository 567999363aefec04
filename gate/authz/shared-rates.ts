import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { KeySlots } from './key-slots.ts';
import { markShared, takeForOther, unsharedMax, type Bucket } from './rate-limit.ts';
import type { GateKey, GateView } from './view.ts';

/** Tokens of one key that one replica took. */
export interface TakenTokens {
  keyId: Id;
  tokens: number;
}

/** Parts of {@link unsharedMax} that a key has taken: at the first it is reported, at the second without delay. */
const [reportedPart, urgentPart] = [1 / 4, 1 / 2] as const;

/**
 * The rate limits that replicas share. Each takes tokens of its own copy of a key's bucket, reports them to the others,
 * and takes what they report from the copy, too. No verdict waits for that. A replica may take no more than
 * {@link unsharedMax} tokens before it has reported them.
 */
export interface SharedRates {
  /** The number of replicas that share the limits; 1 while this replica limits on its own. */
  replicas(): number;
  /** Reports a token that was taken, when it is worth a message. @param bucket after that */
  took(key: GateKey, bucket: Bucket): void;

  /** The feed counted the running replicas, this one included. */
  counted(replicas: number): void;
  /** The exchange with the others works, or it does not: then this replica limits on its own. */
  connected(working: boolean): void;
  /** Whether the limits are shared, or there is no other replica. */
  shared(): boolean;
  /** Takes up to `max` keys with tokens to report. */
  collect(max: number): TakenTokens[];
  /** The others know of these tokens now. */
  reported(taken: readonly TakenTokens[]): void;
  /** Another replica took these tokens. */
  received(taken: TakenTokens): void;
  /** Sets what is called when a key has tokens to report. @param urgent whether it is close to what it may take before a report */
  onDue(call: (urgent: boolean) => void): void;
}

/** Limits that each replica enforces on its own until there are others. */
export function createSharedRates(view: GateView, slots: KeySlots, clock: Clock): SharedRates {
  /** By slot, since a change replaces the key. */
  const due = new Set<number>();
  let running = 1;
  let working = false;
  let effective = 1;
  let wake: ((urgent: boolean) => void) | undefined;

  const update = () => {
    const before = effective;
    effective = working ? running : 1;
    // What was not shared before is not known to be, so that it counts from now.
    if (before === 1 && effective > 1) view.forgetUnshared();
    if (effective === 1) due.clear();
  };

  return {
    replicas: () => effective,
    took(key, { unshared }) {
      if (effective === 1) return;
      const max = unsharedMax(key.terms.plan, effective);
      if (unshared < max * reportedPart) return;
      due.add(key.slot);
      wake?.(unshared >= max * urgentPart);
    },

    counted(replicas) {
      running = Math.max(1, replicas);
      update();
    },
    connected(now) {
      working = now;
      update();
    },
    shared: () => working || running === 1,
    collect(max) {
      const taken: TakenTokens[] = [];
      for (const slot of due) {
        if (taken.length === max) break;
        due.delete(slot);
        // The bucket of a deleted key is full.
        const tokens = view.bucket({ slot }).unshared;
        if (tokens > 0) taken.push({ keyId: slots.idOf(slot), tokens });
      }
      return taken;
    },
    reported(taken) {
      for (const { keyId, tokens } of taken) {
        const key = view.keyOf(keyId);
        if (!key) continue;
        const bucket = view.bucket(key);
        markShared(bucket, tokens);
        view.keepBucket(key, bucket);
      }
    },
    received({ keyId, tokens }) {
      const key = view.keyOf(keyId);
      if (!key || effective === 1) return;
      const bucket = view.bucket(key);
      takeForOther(bucket, key.terms.plan, clock.monotonic(), effective, tokens);
      view.keepBucket(key, bucket);
    },
    onDue(call) {
      wake = call;
    },
  };
}
