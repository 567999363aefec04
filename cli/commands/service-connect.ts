import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { serviceAccess, serviceView } from '../../runtime/contracts/api/services.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { startForward } from '../port-forward.ts';
import { resolveScope } from '../scope.ts';
import { findProgram, serviceClients, type ClientStart, type Endpoint } from '../service-clients.ts';
import { openForward } from './port-forward.ts';

const { output: _, ...flags } = scopeFlags;

export const connectCommand = command({
  name: 'connect',
  args: ['service'],
  words: 'arguments',
  wordsAreOptional: true,
  description: 'Open the client of a service, such as psql (project admins only; audited).',
  flags,
  examples: [
    'svc service connect orders',
    'svc service connect orders -- -c "SELECT 1"',
    'svc service connect files -- ls svc/uploads',
  ],
  async run({ context, args, words, flags: names }) {
    const scope = resolveScope(context, names);
    const path = scope.path('services', args.service);
    const { type, external } = await scope.api.call('GET', path, serviceView, { query: scope.query });
    const client = serviceClients[type];
    const program = findProgram(client, context.env);
    if (program === undefined) {
      throw new Failure(`${client.programs.join(' or ')} is not on your PATH. Install ${client.install}.`, {
        code: 'not_installed',
        hint: external
          ? `or use another client; its address and credentials: svc service credentials ${args.service} ${scope.flags}`
          : `or use another client through: svc port-forward service/${args.service} ${scope.flags}`,
      });
    }
    const access = await scope.api.call('GET', `${path}/credentials`, serviceAccess, { query: scope.query });
    const { host, port, tls } = access;
    if (host === undefined || port === undefined) {
      throw new Failure(`The service "${args.service}" has no address yet.`, {
        code: 'not_ready',
        hint: 'try again in a moment',
      });
    }
    if (external) return runClient(context, program, client.start(access, { host, port, tls }, words));
    const forward = await startForward({
      port: 0,
      open: () => openForward(scope, { kind: 'service', name: args.service }, port),
      report: (reason) => context.say(`connection failed: ${reason}`),
    });
    const local: Endpoint = { host: '127.0.0.1', port: forward.port, tls: false };
    try {
      return await runClient(context, program, client.start(access, local, words));
    } finally {
      forward.close();
    }
  },
});

/** Runs a program in place of this one. @returns its exit code */
async function runClient(context: Context, program: string, { args, env, remove }: ClientStart): Promise<number> {
  const { stdin, stdout, stderr } = context;
  // Ctrl-C is for the client, which stops a query and not itself.
  let endIgnoring: (() => void) | undefined;
  const ignore = () => void (endIgnoring = context.onInterrupt?.(ignore));
  ignore();
  try {
    const child = spawn(program, args, {
      env: { ...context.env, ...env },
      stdio: [handleOf(stdin), handleOf(stdout), handleOf(stderr)],
    });
    if (child.stdin) stdin.pipe(child.stdin.on('error', () => undefined));
    child.stdout?.pipe(stdout, { end: false });
    child.stderr?.pipe(stderr, { end: false });
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } finally {
    endIgnoring?.();
    remove?.();
  }
}

/** A stream of this process is inherited, so that the client finds the terminal. */
function handleOf(stream: Readable | Writable): 'inherit' | 'pipe' {
  const own: unknown[] = [process.stdin, process.stdout, process.stderr];
  return own.includes(stream) ? 'inherit' : 'pipe';
}
