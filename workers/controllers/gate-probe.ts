import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { gateDenialStatus, gateProbePath, invalidKeyBody } from '../../runtime/contracts/gate-denials.ts';

/**
 * The number of requests, each on its own connection, so that they reach all replicas of the ingress; all must agree.
 * If one of two replicas has not updated the route, they agree by chance once in a thousand times.
 */
const rounds = 10;
/** The gate responds within 1 s in all of its states. */
const answerMs = 1_500;
/** The gate's responses are far shorter; of others, this much is enough to tell them apart. */
const bodyMaxBytes = 2_048;

/** The gate's codes for a request without a key when it cannot check keys. */
const otherDenials = ['gate_unavailable', 'misconfigured'] as const;

/** The body of a response with another status need not be read. */
const statuses = new Set<number>([gateDenialStatus.invalid_key, ...otherDenials.map((code) => gateDenialStatus[code])]);

/** The responses of the ingress to requests without a key. */
export type GateAnswer = GateSeen & {
  /** The host that it applies to, if it does not apply to all. */
  host?: string;
};

type GateSeen =
  /** Every response was the gate's denial. */
  | { kind: 'refused' }
  /** Another denial of the gate: the route asks it, but it cannot check keys. */
  | { kind: 'denied'; code: (typeof otherDenials)[number] }
  /** A response of the app: the gate was not asked. */
  | { kind: 'open'; status: number }
  /** Both: a replica of the ingress, or a host, is not updated yet. */
  | { kind: 'mixed'; status: number }
  /** An empty 500, which an ingress that cannot reach the gate sends, but an app may send, too. */
  | { kind: 'unclear' }
  /** The ingress accepted the request and did not respond in time. */
  | { kind: 'silent' }
  /** No connection to the ingress. */
  | { kind: 'unreachable'; reason: string };

/** The ingress to ask, and the hosts. */
export interface GateQuestion {
  /** The workload's id. */
  app: string;
  /** The ingress inside the cluster: scheme, host and optional port. */
  address: string;
  /** The app's public hosts, at least one, with the port if clients send one. */
  hosts: readonly string[];
  signal: AbortSignal;
}

/** Checks whether the ingress requires a key for these hosts; takes 3 s at most and never rejects. */
export type ProbeGate = (question: GateQuestion) => Promise<GateAnswer>;

/**
 * Creates a probe that sends requests without a valid key. A result other than `refused` or `open` counts immediately; these two count only when
 * all {@link rounds} requests to every host get them.
 * @param sign signs a probe of a workload, so that checkers do not log it as a denial
 */
export function createGateProbe(sign?: (app: string) => string): ProbeGate {
  return async ({ app, address, hosts, signal }) => {
    const probe = (host: string) => sendProbe(address, host, sign?.(app), signal);
    const firstResults = await Promise.all(hosts.map(probe));
    const first = verdict(hosts, firstResults);
    if (first.kind !== 'refused' && first.kind !== 'open') return first;
    const repeats = hosts.flatMap((host) => Array.from({ length: rounds - 1 }, () => host));
    return verdict([...hosts, ...repeats], [...firstResults, ...(await Promise.all(repeats.map(probe)))]);
  };
}

/** Combines the responses: any that is neither `refused` nor `open` counts first, and these two only if all agree. */
function verdict(hosts: readonly string[], answers: readonly GateSeen[]): GateAnswer {
  const other = answers.findIndex(({ kind }) => kind !== 'refused' && kind !== 'open');
  const open = answers.findIndex(({ kind }) => kind === 'open');
  const index = other >= 0 ? other : Math.max(open, 0);
  const [result, host] = [answers[index] ?? ({ kind: 'unclear' } as const), hosts[index]];
  if (answers.every(({ kind }) => kind === result.kind)) return result;
  const which: { host?: string } = host !== undefined && new Set(hosts).size > 1 ? { host } : {};
  return result.kind === 'open' ? { kind: 'mixed', status: result.status, ...which } : { ...result, ...which };
}

/** Sends one request on its own connection. */
function sendProbe(
  address: string,
  host: string,
  signature: string | undefined,
  signal: AbortSignal,
): Promise<GateSeen> {
  const { protocol, hostname, port } = new URL(address);
  const options = {
    hostname,
    port,
    path: gateProbePath,
    method: 'GET',
    agent: false as const,
    headers: { Host: host, 'User-Agent': 'svc-gate-probe', ...(signature !== undefined && { 'X-API-Key': signature }) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
  };
  const request =
    protocol === 'https:'
      ? // The certificate proves nothing here: the connection ends inside the cluster, and nothing secret is sent.
        httpsRequest({ ...options, servername: host.replace(/:\d+$/, ''), rejectUnauthorized: false })
      : httpRequest(options);
  return new Promise((resolve) => {
    let connected = false;
    const fail = (error: NodeJS.ErrnoException) => {
      request.destroy();
      resolve(connected ? { kind: 'silent' } : { kind: 'unreachable', reason: reasonOf(error) });
    };
    request.once('socket', (socket) => socket.once('connect', () => (connected = true)));
    request.on('error', fail);
    request.once('response', (response) => {
      const { statusCode: status = 0 } = response;
      const respond = async () => classify(status, statuses.has(status) ? await read(response) : '');
      respond()
        .then(resolve, fail)
        .finally(() => request.destroy());
    });
    request.end();
  });
}

/** The body, or its beginning if it is longer than any of the gate's. */
async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > bodyMaxBytes) break;
  }
  return Buffer.concat(chunks).toString();
}

/** Classifies one response. Pure. */
export function classify(status: number, body: string): GateSeen {
  if (status === gateDenialStatus.invalid_key && body === invalidKeyBody) return { kind: 'refused' };
  if (status === 500 && body === '') return { kind: 'unclear' };
  const code = otherDenials.find((candidate) => gateDenialStatus[candidate] === status && hasCode(body, candidate));
  return code === undefined ? { kind: 'open', status } : { kind: 'denied', code };
}

function hasCode(body: string, code: string): boolean {
  try {
    return (JSON.parse(body) as { code?: unknown } | null)?.code === code;
  } catch {
    return false;
  }
}

/** The same text for the same error, because it is stored in a status. */
function reasonOf({ code, name }: NodeJS.ErrnoException): string {
  return name === 'TimeoutError' || code === 'ABORT_ERR' || code === undefined ? 'no connection in time' : code;
}
