import { connect } from 'node:net';

/** Whether the port accepts TCP connections within `timeoutMs`. Never rejects. */
export type Probe = (host: string, port: number, timeoutMs: number) => Promise<boolean>;

/** Opens a TCP connection and closes it immediately. */
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
