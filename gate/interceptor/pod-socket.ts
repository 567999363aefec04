import { connect, type NetConnectOpts, type Socket } from 'node:net';

/** A pod on an unreachable node must not hold a request for the kernel's two minutes. */
const connectTimeoutMs = 2_000;

/** Marks the failure as one before any byte was sent, like the system's own connect errors. */
function connectTimedOut(): NodeJS.ErrnoException {
  return Object.assign(new Error('the pod did not accept the connection in time'), {
    code: 'ETIMEDOUT',
    syscall: 'connect',
  });
}

/** Connects with a time-out of 2 s. */
export function connectToPod(options: NetConnectOpts): Socket {
  const socket = connect(options);
  const timer = setTimeout(() => socket.destroy(connectTimedOut()), connectTimeoutMs);
  const clear = () => clearTimeout(timer);
  socket.once('connect', clear).once('close', clear);
  return socket;
}

/** Whether the error occurred before the connection was open, so that nothing was sent. */
export function isConnectError(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall === 'connect';
}
