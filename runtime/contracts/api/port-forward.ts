import { z } from 'zod';

/**
 * The WebSocket subprotocol of `GET …/port-forward`: one TCP connection. Binary messages are its data, and the text message
 * `end` ends one direction.
 */
export const forwardProtocol = 'tcp.platform.svc';
export const forwardEnd = 'end';

export const portForwardQuery = z.object({
  port: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('The port that the workload listens on, which is the only one that can be reached (default).'),
});
