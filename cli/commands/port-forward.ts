import { appView } from '../../runtime/contracts/api/apps.ts';
import { forwardProtocol } from '../../runtime/contracts/api/port-forward.ts';
import { serviceView } from '../../runtime/contracts/api/services.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { startForward } from '../port-forward.ts';
import { resolveScope, type Scope } from '../scope.ts';

const collections = { app: 'apps', service: 'services' } as const;
type Kind = keyof typeof collections;

/** A workload that connections are forwarded to. */
export interface ForwardTarget {
  kind: Kind;
  name: string;
}

/** Opens one connection to a workload's port. */
export function openForward(scope: Scope, { kind, name }: ForwardTarget, port: number) {
  const path = scope.path(collections[kind], name, 'port-forward');
  return scope.api.openData(path, forwardProtocol, { ...scope.query, port });
}

/** Runs `svc port-forward` until Ctrl-C. @returns the exit code @throws Failure */
export async function forwardPort(
  context: Context,
  args: { target: string; ports: string | undefined },
  names: Parameters<typeof resolveScope>[1],
): Promise<number> {
  const target = parseTarget(args.target);
  const ports = parsePorts(args.ports);
  const scope = resolveScope(context, names);
  const port = ports?.remote ?? (await portOf(scope, target));
  // So that a wrong name or port is a failure of the command, and not of a later connection.
  const trial = await openForward(scope, target, port).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code !== 'invalid_value' || !ports) throw error;
    const hint = `use any local port with it: svc port-forward ${args.target} ${ports.local}:<its port>`;
    throw new Failure(error.message, { code: error.code, hint, exitCode: error.exitCode, cause: error });
  });
  trial.socket.resume();
  trial.content.start(() => false);
  trial.socket.close();
  const forward = await startForward({
    port: ports?.local ?? port,
    open: () => openForward(scope, target, port),
    report: (reason) => context.say(`connection failed: ${reason}`),
  });
  context.say(`127.0.0.1:${forward.port} leads to port ${port} of ${args.target}. Stop with Ctrl-C.`);
  await new Promise<void>((resolve) => context.onInterrupt?.(resolve));
  forward.close();
  return exitCodes.interrupted;
}

/** `app/api` or `service/orders`. @throws Failure (usage) */
function parseTarget(text: string): ForwardTarget {
  const [kind = '', name = '', ...rest] = text.split('/');
  if (!Object.hasOwn(collections, kind) || name === '' || rest.length > 0) {
    throw usageFailure(`"${text}" is not a target.`, 'use app/<name> or service/<name>');
  }
  return { kind: kind as Kind, name };
}

/** `5432`, `15432:5432` or `0:5432`. @throws Failure (usage) */
function parsePorts(text: string | undefined): { local: number; remote: number } | undefined {
  if (text === undefined) return undefined;
  const [, first = '', second] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const [local, remote] = [Number(first), Number(second ?? first)];
  if (first === '' || local > 65_535 || remote < 1 || remote > 65_535) {
    throw usageFailure(`"${text}" is not a valid port.`, 'use <port> or <local port>:<remote port>');
  }
  return { local, remote };
}

async function portOf(scope: Scope, { kind, name }: ForwardTarget): Promise<number> {
  const path = scope.path(collections[kind], name);
  if (kind === 'app') return (await scope.api.call('GET', path, appView, { query: scope.query })).port;
  const { port } = await scope.api.call('GET', path, serviceView, { query: scope.query });
  if (port !== undefined) return port;
  throw new Failure(`The service "${name}" has no port yet.`, { code: 'not_ready', hint: 'try again in a moment' });
}
