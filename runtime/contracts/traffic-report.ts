import { z } from 'zod';

/** What one interceptor knows about one function's traffic. */
export const functionTraffic = z.object({
  /** The function's identity (label `platform.svc/id`). */
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  /** Requests that this interceptor holds or forwards at this moment; an open WebSocket is one. */
  inflight: z.int().min(0),
  /** Requests since the process started. */
  requests: z.int().min(0),
  /** Milliseconds since the last activity, 0 while something is in flight; without any, since the process started. */
  idleMs: z.number().min(0),
});

/** `GET /report` on an interceptor's admin port: what the scaler judges by (design.md §7). */
export const trafficReport = z.object({
  /** The interceptor's pod name. */
  replica: z.string(),
  /** When the report was made, RFC 3339. */
  at: z.string(),
  /** Every function that the interceptor routes to, with or without traffic. */
  functions: z.array(functionTraffic),
});

export type FunctionTraffic = z.infer<typeof functionTraffic>;
export type TrafficReport = z.infer<typeof trafficReport>;
