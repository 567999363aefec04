import { connect } from 'node:net';
import { request } from 'undici';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { Container, Probe } from './pod-spec.ts';

/** Until it succeeds for the first time a probe is tried this often at least: a start is noticed at once. */
const eagerMs = 200;

/** What a probe needs besides itself. */
export interface ProbeContext {
  container: Container;
  address: string;
  /** Runs a command in the container's surroundings; resolves to its exit code. */
  execute: (command: readonly string[], timeoutMs: number) => Promise<number>;
  clock: Clock;
  signal: AbortSignal;
}

/** Asks once. @returns whether all is well */
async function succeeds(probe: Probe, { container, address, execute }: ProbeContext): Promise<boolean> {
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  const { exec, tcpSocket, httpGet } = probe;
  try {
    if (exec) return (await execute(exec.command, timeoutMs)) === 0;
    if (tcpSocket) return await connects(address, portOf(container, tcpSocket.port), timeoutMs);
    if (!httpGet) return false;
    const response = await request(`http://${address}:${portOf(container, httpGet.port)}${httpGet.path ?? '/'}`, {
      headers: { 'user-agent': 'kube-probe/svc' },
      signal: AbortSignal.timeout(timeoutMs),
      // A connection that stays would keep a program that wants to end waiting.
      reset: true,
    });
    await response.body.dump();
    return response.statusCode < 400;
  } catch {
    return false;
  }
}

/**
 * Asks again and again, and tells each change of verdict: after a good answer that all is well, after `failureThreshold`
 * bad ones in a row that it is not. Ends with the signal.
 */
export async function watchProbe(probe: Probe, context: ProbeContext, tell: (well: boolean) => void): Promise<void> {
  const { clock, signal } = context;
  const { periodSeconds = 10, failureThreshold = 3 } = probe;
  const periodMs = periodSeconds * 1000;
  let verdict: boolean | undefined;
  let badSince: number | undefined;
  let eager = true;
  while (!signal.aborted) {
    const well = await succeeds(probe, context);
    if (signal.aborted) return;
    const now = clock.monotonic();
    badSince = well ? undefined : (badSince ?? now);
    // Counted in periods, however often it was asked.
    const lasting = badSince !== undefined && now - badSince >= (failureThreshold - 1) * periodMs;
    if (verdict !== well && (well || lasting)) tell((verdict = well));
    eager &&= !well;
    await clock.sleep(eager ? Math.min(eagerMs, periodMs) : periodMs, signal).catch(() => undefined);
  }
}

/** The number of a port that a probe names. @throws Error for a name that the container does not declare */
function portOf({ name, ports = [] }: Container, port: string | number): number {
  if (typeof port === 'number') return port;
  const found = ports.find((each) => each.name === port);
  if (!found) throw new Error(`container "${name}" has no port "${port}"`);
  return found.containerPort;
}

function connects(host: string, port: number, timeout: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    for (const failure of ['timeout', 'error']) socket.once(failure, () => end(false));
  });
}
