import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** The security headers that the public route adds to responses. */
export const securitySettings = z.object({
  /** Whether to add the standard security headers. */
  headers: z.boolean().optional(),
  /** External domains that pages may load from; absent: no Content-Security-Policy; empty: only their own host. */
  csp: z.array(z.string()).max(50).optional(),
});

export type SecuritySettings = z.infer<typeof securitySettings>;

/** Whether the public route requires an API key. */
export const gateSettings = z.object({ enabled: z.boolean() });

/**
 * The condition of the gate: `True` gated, `False` off, `Unknown` with the reason `Applying` or `Lifting` until the change
 * was verified at the ingress.
 */
export const gatedCondition = 'Gated';

/**
 * The phase of a workload's gate (docs/reference/gate.md#turning-the-gate-on): `applying` until the ingress was observed to
 * require a key, `lifting` until it was observed not to.
 */
export const gatePhases = ['off', 'applying', 'gated', 'lifting'] as const;

export type GatePhase = (typeof gatePhases)[number];

/** The gate in a workload's status. */
export interface GateStatus {
  /** The condition {@link gatedCondition} has the details. */
  gate?: GatePhase;
  /** When that phase began; absent if the gate was never on. */
  gateSince?: string;
  conditions?: Condition[];
}

/** A workload that can have a gate: an app or a function. */
export interface GatedWorkload extends KubeObject {
  spec: { gate?: z.infer<typeof gateSettings> | undefined };
  status?: GateStatus;
}
