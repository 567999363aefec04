import { connect } from 'node:net';
import { request } from 'undici';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { Container, Probe } from './pod-spec.ts';

/** Until it succeeds for the first time a probe is tried this often at least: a start is noticed at once. */
const eagerMs = 200;

/** Runs a command in the container's surroundings; resolves to its exit code. */
export type Execute = (command: readonly string[], timeoutMs: number) => Promise<number>;

/** What a probe needs besides itself. */
export interface ProbeContext {
  container: Container;
  address: string;
  execute: Execute;
  clock: Clock;
  signal: AbortSignal;
}

/** Asks once. @returns undefined when all is well, else what is wrong */
export async function probeOnce(probe: Probe, context: ProbeContext): Promise<string | undefined> {
  const { container, address, execute } = context;
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  try {
    if (probe.exec) {
      const code = await execute(probe.exec.command, timeoutMs);
      return code === 0 ? undefined : `the command ended with ${code}`;
    }
    if (probe.tcpSocket) {
      await connectOnce(address, portOf(container, probe.tcpSocket.port), timeoutMs);
      return undefined;
    }
    if (!probe.httpGet) return 'this kind of probe is not supported';
    const { path = '/', port, scheme = 'HTTP', httpHeaders = [] } = probe.httpGet;
    const url = `${scheme.toLowerCase()}://${address}:${portOf(container, port)}${path.startsWith('/') ? '' : '/'}${path}`;
    const response = await request(url, {
      headers: {
        'user-agent': 'kube-probe/svc',
        ...Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value])),
      },
      signal: AbortSignal.timeout(timeoutMs),
      // A connection that stays would keep a program that wants to end waiting.
      reset: true,
    });
    await response.body.dump();
    return response.statusCode < 400 ? undefined : `HTTP probe failed with statuscode: ${response.statusCode}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Asks again and again, and tells each change of verdict: after `successThreshold` good answers in a row that all is well,
 * after `failureThreshold` bad ones that it is not. Ends with the signal.
 */
export async function watchProbe(
  probe: Probe,
  context: ProbeContext,
  tell: (failure: string | undefined) => void,
): Promise<void> {
  const { clock, signal } = context;
  const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1, failureThreshold = 3 } = probe;
  const sleep = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  if (initialDelaySeconds > 0) await sleep(initialDelaySeconds * 1000);
  let good = 0;
  let badSince: number | undefined;
  let succeeded = false;
  while (!signal.aborted) {
    const failure = await probeOnce(probe, context);
    if (signal.aborted) return;
    const now = clock.monotonic();
    if (failure === undefined) {
      badSince = undefined;
      good += 1;
      if (good === successThreshold) {
        succeeded = true;
        tell(undefined);
      }
    } else {
      good = 0;
      badSince ??= now;
      // Counted in periods, however often it was asked.
      if (now - badSince >= (failureThreshold - 1) * periodSeconds * 1000) tell(failure);
    }
    await sleep(succeeded || good > 0 ? periodSeconds * 1000 : Math.min(eagerMs, periodSeconds * 1000));
  }
}

/** The number of a port that a probe names. @throws Error for a name that the container does not declare */
export function portOf({ name, ports = [] }: Container, port: number | string): number {
  if (typeof port === 'number') return port;
  const found = ports.find((each) => each.name === port)?.containerPort ?? Number(port);
  if (!Number.isInteger(found)) throw new Error(`container "${name}" has no port "${port}"`);
  return found;
}

function connectOnce(host: string, port: number, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (error?: Error) => {
      socket.destroy();
      if (error) reject(error);
      else resolve();
    };
    socket.once('connect', () => end());
    socket.once('timeout', () => end(new Error(`port ${port} did not answer in time`)));
    socket.once('error', end);
  });
}
