import { z } from 'zod';
import { gatePhases } from '../resources/public-route.ts';
import { timestamp } from './common.ts';

/** Security settings of an app or a function; in a change, absent fields keep their value. */
export const securityChange = z.strictObject({
  /** Whether to add the standard security headers to responses; default true. */
  headers: z.boolean().exactOptional(),
  /** External domains that pages may load from; null: no Content-Security-Policy; empty: only their own host. */
  csp: z.array(z.string().max(300)).max(50).nullable().exactOptional(),
});

export type SecurityChange = z.output<typeof securityChange>;

export const securityView = z.object({ headers: z.boolean(), csp: z.array(z.string()).nullable() });

export type SecurityView = z.infer<typeof securityView>;

/** `PUT …/apps/{a}/gate` and `…/functions/{f}/gate` */
export const gateUpdate = z.strictObject({ enabled: z.boolean() });
/** `PUT` and `GET …/gate` */
export const gateView = z.object({
  gate: z.enum(gatePhases),
  /** When the phase began; absent if the gate was never on, and until the controller has seen the change. */
  since: timestamp.optional(),
  /** What the platform last observed, and what to do if the change does not complete. */
  message: z.string().optional(),
});

export type GateView = z.infer<typeof gateView>;
