import { z } from 'zod';

/** The traffic of one function at one interceptor. */
const functionTraffic = z.object({
  /** The function's identity (label `platform.svc/id`). */
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  /** Requests that this interceptor is holding or forwarding; an open WebSocket counts as one. */
  inflight: z.int().min(0),
  /** Requests since the process started. */
  requests: z.int().min(0),
  /** Milliseconds since the last activity; 0 while a request is in progress; without any activity, since the process started. */
  idleMs: z.number().min(0),
});

/** `GET /report` on an interceptor's admin port: the input of the scaler. */
export const trafficReport = z.object({
  /** The interceptor's pod name. */
  replica: z.string(),
  /** When the report was made, RFC 3339. */
  at: z.string(),
  /** All functions that the interceptor routes to, with or without traffic. */
  functions: z.array(functionTraffic),
});

export type FunctionTraffic = z.infer<typeof functionTraffic>;
export type TrafficReport = z.infer<typeof trafficReport>;
