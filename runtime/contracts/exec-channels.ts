import { startFault } from '../domain/start-fault.ts';

/**
 * The WebSocket subprotocol of commands in containers, that of Kubernetes: every message is binary, and its first byte is
 * the channel.
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
 */
export const execProtocol = 'v5.channel.k8s.io';

/**
 * `stdin`, `close` (its second byte is the channel that ends) and `resize` (JSON with `Width` and `Height`) come from the
 * client. `error` is the last message, a Kubernetes Status with the exit code.
 */
export const execChannels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** A message of one channel. */
export function channelMessage(channel: number, content: Uint8Array | string): Buffer {
  return Buffer.concat([Buffer.of(channel), typeof content === 'string' ? Buffer.from(content) : content]);
}

/** How a command ended: its exit code, or why it could not run. */
export type ExecEnd = { exitCode: number } | { failure: string };

/** What the kubelet and the API server put before the reason of the container runtime, the former in each of them. */
const wrapping = /^(?:Internal error occurred: |error executing command in container: )+/;

/** Reads the content of the `error` channel. */
export function readExecEnd(content: Buffer): ExecEnd {
  const failed = { failure: 'The cluster returned an unknown result.' };
  try {
    const status = JSON.parse(content.toString()) as {
      status?: unknown;
      reason?: unknown;
      message?: unknown;
      details?: { causes?: { reason?: unknown; message?: unknown }[] };
    };
    if (status.status === 'Success') return { exitCode: 0 };
    const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
    const exitCode = Number(cause?.message);
    if (cause && Number.isInteger(exitCode)) return { exitCode };
    if (typeof status.message !== 'string') return failed;
    return { failure: startFault(status.message) ?? status.message.replace(wrapping, '') };
  } catch {
    return failed;
  }
}
