import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** What the public route adds to answers (spec.md §2.5, security settings). */
export const securitySettings = z.object({
  /** The headers that any site should send. */
  headers: z.boolean().optional(),
  /** External domains that pages may load from; absent: no Content-Security-Policy, empty: only their own host. */
  csp: z.array(z.string()).max(50).optional(),
});

export type SecuritySettings = z.infer<typeof securitySettings>;

/** Whether the public route demands an API key. */
export const gateSettings = z.object({ enabled: z.boolean() });

/**
 * The condition that tells about the gate: `True` gated, `False` off, `Unknown` with the reason `Applying` or `Lifting`
 * while the ingress was not yet seen to follow.
 */
export const gatedCondition = 'Gated';

/**
 * Where a workload's gate stands (spec.md §3.2): `applying` until the ingress was seen to demand a key, `lifting` until it
 * was seen to demand none.
 */
export const gatePhases = ['off', 'applying', 'gated', 'lifting'] as const;

export type GatePhase = (typeof gatePhases)[number];

/** What the status of a workload with a gate says of it. */
export interface GateStatus {
  /** What was last seen, and why it is so, is said by the condition {@link gatedCondition}. */
  gate?: GatePhase;
  /** When that phase began; absent for a workload that never had a gate. */
  gateSince?: string;
  conditions?: Condition[];
}

/** A workload with a public route, and so perhaps with a gate: an app or a function. */
export interface GatedWorkload extends KubeObject {
  spec: { gate?: z.infer<typeof gateSettings> | undefined };
  status?: GateStatus;
}
