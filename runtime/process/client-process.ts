import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { CallReply } from './client-calls.ts';
import { readFrames, writeFrame } from './frames.ts';

/** An error that the program of a client process threw. */
export class CallError extends Error {
  /** The name of the error there. */
  override readonly name: string;

  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

/** Why a client process ended before it answered. The message tells what the server did, and is shown to users. */
export class ClientEndedError extends Error {
  override readonly name = 'ClientEndedError';
}

/** Why the pool kills a process. */
type KillReason = 'memory' | 'time' | 'released';

/** A running client process; it does one thing at a time. */
export interface ClientProcess {
  call(method: string, parameters: object, signal?: AbortSignal): Promise<unknown>;
  kill(reason: KillReason): void;
  /** Whether it runs, and is not being killed. */
  isUsable(): boolean;
  /** Its memory, without the files that it maps; 0 once it has ended, and where the system does not tell. */
  memoryBytes(): number;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

/** Variables with which a process finds servers and verifies their certificates; all others stay here. */
const passedVariables = [
  'PATH',
  'NODE_COMPILE_CACHE',
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  // Of the embedded cluster's node, which resolves the names of Services.
  'HOSTNAME',
  'SVC_HOSTS_FILE',
  'SVC_NAMESPACE',
];
/** V8 ends a process at this size of its heap, however quickly it grows. */
const heapMaxMib = 112;
/** The signals by which V8 and the kernel end a process without memory. */
const memorySignals: readonly (string | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGKILL'];

/** Starts a process; its standard streams are closed, because what a library writes there may contain credentials. */
export function startClient(options: {
  program: string;
  env: Readonly<Record<string, string | undefined>>;
  log: Logger;
  memoryMaxBytes: number;
  leaseMs: number;
}): ClientProcess {
  const { program, env, log, memoryMaxBytes, leaseMs } = options;
  const child = spawn(process.execPath, [`--max-old-space-size=${heapMaxMib}`, '--max-semi-space-size=4', program], {
    env: Object.fromEntries(passedVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const socket = child.stdio[3] as Duplex;
  let pending: { resolve: (result: unknown) => void; reject: (error: Error) => void } | undefined;
  let reason: KillReason | undefined;
  let end: Error | undefined;

  const endings: Record<KillReason, string> = {
    memory: `the server sent more than fits into ${memoryMaxBytes / 1024 ** 2} MiB of memory`,
    time: `the server took longer than ${leaseMs / 1000} s`,
    released: 'the connection was closed',
  };
  const kill = (why: KillReason) => {
    reason ??= why;
    child.kill('SIGKILL');
  };
  const settle = () => {
    const current = pending;
    pending = undefined;
    return current;
  };

  // The end of the process is reported by its exit.
  socket.on('error', () => child.kill('SIGKILL'));
  readFrames(socket, (message) => {
    const reply = message as CallReply;
    if ('error' in reply) settle()?.reject(new CallError(reply.error.name, reply.error.message));
    else settle()?.resolve(reply.result);
  });
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      end ??= error;
      settle()?.reject(error);
      resolve();
    });
    child.once('exit', (code, signal) => {
      const why = reason ?? (memorySignals.includes(signal) ? 'memory' : undefined);
      end ??= new ClientEndedError(why ? endings[why] : 'the server sent something that cannot be read');
      if (reason !== 'released') log.warn({ code, signal, reason: end.message }, 'client process ended');
      settle()?.reject(end);
      resolve();
    });
  });

  return {
    ended,
    kill,
    isUsable: () => end === undefined && reason === undefined,
    async call(method, parameters, signal) {
      if (end) throw end;
      signal?.throwIfAborted();
      const abort = () => kill('time');
      signal?.addEventListener('abort', abort, { once: true });
      try {
        return await new Promise((resolve, reject) => {
          pending = { resolve, reject };
          writeFrame(socket, { method, parameters });
        });
      } finally {
        signal?.removeEventListener('abort', abort);
      }
    },
    memoryBytes() {
      if (end || child.pid === undefined) return 0;
      try {
        const kib = /^RssAnon:\s*(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
        return Number(kib ?? 0) * 1024;
      } catch {
        return 0;
      }
    },
  };
}
