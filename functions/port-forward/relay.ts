import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { idleReason, watchIdle } from '../../runtime/api/idle-watch.ts';
import { countWaiting } from '../../runtime/api/waiting-messages.ts';
import { forwardEnd } from '../../runtime/contracts/api/port-forward.ts';
import { sessionCodes } from '../../runtime/contracts/session-codes.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { PodReader } from './pod-reader.ts';

/** How a forwarded connection ended, and what it carried. */
export interface ForwardEnd {
  by: 'pod' | 'client' | 'idle' | 'error';
  sentBytes: number;
  receivedBytes: number;
}

/** A connection to a pod, which is paused. */
export interface PodConnection {
  socket: Socket;
  reader: PodReader;
}

/** Bytes that may wait for a slow client: a few reads, so that the pod is read while some of them are being sent. */
const toClientMax = 512 * 1024;
/** Connects a client's WebSocket with a TCP connection to a pod, until both directions or one side have ended. */
export async function relayTcp(
  client: WebSocket,
  { socket: pod, reader }: PodConnection,
  { idleMs, clock }: { idleMs: number; clock: Clock },
): Promise<ForwardEnd> {
  const ended = Promise.withResolvers<ForwardEnd['by']>();
  const bytes = { sentBytes: 0, receivedBytes: 0 };
  let hasEnded = false;
  const end = (by: ForwardEnd['by'], code: number, reason?: string) => {
    if (hasEnded) return;
    hasEnded = true;
    ended.resolve(by);
    client.close(code, reason);
    pod.destroy();
    client.resume();
  };
  const idle = watchIdle(clock, idleMs, () => end('idle', sessionCodes.idle, idleReason(idleMs)));

  const toPod = countWaiting({ pause: () => client.pause(), resume: () => client.resume() });
  const toClient = countWaiting({ pause: () => pod.pause(), resume: () => pod.resume() }, toClientMax);

  client.on('message', (data: Buffer, isBinary) => {
    if (hasEnded) return;
    idle.touch();
    if (!isBinary) {
      if (data.toString() === forwardEnd) pod.end();
      else end('error', sessionCodes.policyViolation, `A text message must be "${forwardEnd}".`);
      return;
    }
    bytes.sentBytes += data.length;
    // Node.js would keep an empty message without counting it.
    if (data.length > 0 && pod.writable) pod.write(data, toPod(data.length));
  });
  reader.start((data, release) => {
    if (hasEnded) return;
    idle.touch();
    bytes.receivedBytes += data.length;
    const sent = toClient(data.length);
    client.send(data, { binary: true }, () => {
      sent();
      release();
    });
  });
  pod.once('end', () => client.send(forwardEnd));
  pod.once('close', (failed) => {
    if (failed) end('error', sessionCodes.lost, 'The connection to the pod broke.');
    else end('pod', sessionCodes.done);
  });
  client.once('close', () => end('client', sessionCodes.done));
  const by = await ended.promise;
  idle.stop();
  return { by, ...bytes };
}
