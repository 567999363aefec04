import { z } from 'zod';
import { gatePhases } from '../resources/public-route.ts';
import { timestamp } from './common.ts';

/** Security settings of an app or a function, new or changed: of a change the given parts. */
export const securityChange = z.strictObject({
  /** Whether answers carry the headers that any site should send; default true. */
  headers: z.boolean().exactOptional(),
  /** External domains that pages may load from; null: no Content-Security-Policy, empty: only their own host. */
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
  /** When the phase began; absent for a workload that never had a gate, and until the controller has seen the wish. */
  since: timestamp.optional(),
  /** What the platform last saw, and for one that gets no further what to do. */
  message: z.string().optional(),
});

export type GateView = z.infer<typeof gateView>;
