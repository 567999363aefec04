import { connect } from 'node:net';
import { request } from 'undici';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { Container, Probe } from './pod-spec.ts';

/** Maximum period of a probe until its first success, so that a start is noticed quickly. */
const eagerMs = 200;

/** The dependencies of a probe. */
export interface ProbeContext {
  container: Container;
  address: string;
  /** Runs a command in the container. @returns its exit code */
  execute: (command: readonly string[], timeoutMs: number) => Promise<number>;
  clock: Clock;
  signal: AbortSignal;
}

/** Runs a probe once. @returns whether it succeeds */
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
      // A kept connection could delay the program's shutdown.
      reset: true,
    });
    await response.body.dump();
    return response.statusCode < 400;
  } catch {
    return false;
  }
}

/**
 * Runs a probe periodically until the signal aborts. Calls `onChange` with true after a success, and with false after
 * `failureThreshold` failures in a row, whenever the result changes.
 */
export async function watchProbe(
  probe: Probe,
  context: ProbeContext,
  onChange: (isSuccess: boolean) => void,
): Promise<void> {
  const { clock, signal } = context;
  const { periodSeconds = 10, failureThreshold = 3 } = probe;
  const periodMs = periodSeconds * 1000;
  let verdict: boolean | undefined;
  let failingSince: number | undefined;
  let beforeFirstSuccess = true;
  while (!signal.aborted) {
    const isSuccess = await succeeds(probe, context);
    if (signal.aborted) return;
    const now = clock.monotonic();
    failingSince = isSuccess ? undefined : (failingSince ?? now);
    // Failures are counted in periods, since the first probes run more often.
    const hasFailed = failingSince !== undefined && now - failingSince >= (failureThreshold - 1) * periodMs;
    if (verdict !== isSuccess && (isSuccess || hasFailed)) onChange((verdict = isSuccess));
    beforeFirstSuccess &&= !isSuccess;
    await clock.sleep(beforeFirstSuccess ? Math.min(eagerMs, periodMs) : periodMs, signal).catch(() => undefined);
  }
}

/** The number of a probe's port. @throws Error for a name that the container does not declare */
function portOf({ name, ports = [] }: Container, port: string | number): number {
  if (typeof port === 'number') return port;
  const namedPort = ports.find((candidate) => candidate.name === port);
  if (!namedPort) throw new Error(`container "${name}" has no port "${port}"`);
  return namedPort.containerPort;
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
