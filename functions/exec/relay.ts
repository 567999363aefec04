import type { WebSocket } from 'ws';
import { idleReason, watchIdle } from '../../runtime/api/idle-watch.ts';
import { countWaiting } from '../../runtime/api/waiting-messages.ts';
import { execChannels, readExecEnd } from '../../runtime/contracts/exec-channels.ts';
import { sessionCodes } from '../../runtime/contracts/session-codes.ts';
import type { Clock } from '../../runtime/domain/clock.ts';

/** How a session ended. */
export interface RelayEnd {
  by: 'command' | 'client' | 'idle' | 'stopped' | 'error';
  /** The content of the `error` channel, once the command has ended. */
  result?: Buffer;
}

export interface RelayOptions {
  /** Messages of the client that arrived before; default none. */
  early?: readonly Buffer[];
  /** Whether the client may set the size of a terminal. */
  terminal: boolean;
  /** Closes both sides when nothing was sent for this time. */
  idleMs: number;
  clock: Clock;
  /**
   * Called when the connection to the pod ends, or the command by a signal. Returns why the platform ended it, for the
   * client; undefined when the platform did not.
   */
  findStop?: () => Promise<string | undefined>;
}

/**
 * Connects a client's WebSocket with one of the API server until one side closes. Both have the protocol of
 * `exec-channels.ts`, so messages pass unchanged; a slow side slows the other down.
 */
export async function relayExec(
  client: WebSocket,
  pod: WebSocket,
  { early = [], terminal, idleMs, clock, findStop }: RelayOptions,
): Promise<RelayEnd> {
  const accepted: number[] = [execChannels.stdin, execChannels.close, ...(terminal ? [execChannels.resize] : [])];
  const ended = Promise.withResolvers<RelayEnd>();
  let hasEnded = false;
  const end = (outcome: RelayEnd, code: number, reason?: string) => {
    if (hasEnded) return;
    hasEnded = true;
    ended.resolve(outcome);
    client.close(code, reason);
    pod.terminate();
    // Input that the command did not read is discarded, so that the connection can close.
    client.resume();
  };
  const idle = watchIdle(clock, idleMs, () => end({ by: 'idle' }, sessionCodes.idle, idleReason(idleMs)));

  const toPod = countWaiting({ pause: () => client.pause(), resume: () => client.resume() });
  const toClient = countWaiting({ pause: () => pod.pause(), resume: () => pod.resume() });
  const forward = (data: Buffer, to: WebSocket, count: (length: number) => () => void) => {
    idle.touch();
    to.send(data, { binary: true }, count(data.length));
  };
  const receive = (data: Buffer) => {
    if (hasEnded) return;
    if (accepted.includes(data[0] ?? -1)) forward(data, pod, toPod);
    else end({ by: 'error' }, sessionCodes.policyViolation, 'The message has an unknown channel.');
  };
  client.on('message', receive);
  let isPodGone = false;
  /** Ends the session as the pod did, unless the platform stopped it, which may be known only now. */
  const endWithPod = async (outcome: RelayEnd, finish: () => void) => {
    isPodGone = true;
    const stop = wasKilled(outcome) ? await findStop?.().catch(() => undefined) : undefined;
    if (hasEnded) return;
    if (stop === undefined) finish();
    else end({ by: 'stopped' }, sessionCodes.stopped, stop);
  };
  pod.on('message', (data: Buffer) => {
    if (hasEnded || isPodGone) return;
    if (data[0] !== execChannels.error) {
      forward(data, client, toClient);
      return;
    }
    const outcome = { by: 'command', result: data.subarray(1) } as const;
    void endWithPod(outcome, () => {
      forward(data, client, toClient);
      end(outcome, sessionCodes.done);
    });
  });
  pod.once('close', () => {
    if (hasEnded || isPodGone) return;
    const outcome = { by: 'error' } as const;
    void endWithPod(outcome, () => end(outcome, sessionCodes.lost, 'The connection to the pod was lost.'));
  });
  client.once('close', () => end({ by: 'client' }, sessionCodes.done));
  for (const data of early) receive(data);
  const outcome = await ended.promise;
  idle.stop();
  return outcome;
}

/** Whether a command did not end by itself: its exit code names a signal, or it has none. */
function wasKilled({ result }: RelayEnd): boolean {
  const end = result && readExecEnd(result);
  return !end || !('exitCode' in end) || end.exitCode > 128;
}

/** How a session ended, for its log entry. */
export function loggedEnd({ by, result }: RelayEnd): { by: RelayEnd['by']; exitCode?: number } {
  const end = result && readExecEnd(result);
  return { by, ...(end && 'exitCode' in end && { exitCode: end.exitCode }) };
}
