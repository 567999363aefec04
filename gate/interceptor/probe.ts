import { connect } from 'node:net';

/** Tells whether something accepts TCP connections there, within `timeoutMs`. Never rejects. */
export type Probe = (host: string, port: number, timeoutMs: number) => Promise<boolean>;

/** A TCP connect that is closed at once. */
export const connectProbe: Probe = (host, port, timeoutMs) =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (answers: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answers);
    };
    const timer = setTimeout(() => end(false), timeoutMs);
    socket.once('connect', () => end(true));
    socket.on('error', () => end(false));
  });
