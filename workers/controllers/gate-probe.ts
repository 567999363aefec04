import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { gateDenialStatus, gateProbePath, invalidKeyBody } from '../../runtime/contracts/gate-denials.ts';

/**
 * Each over a connection of its own, so that they are spread over the ingress's replicas; all must agree. With two
 * replicas, one of which has not taken up the route, they do by chance once in a thousand times.
 */
const rounds = 10;
/** The gate answers within 1 s in every state in which it lives. */
const answerMs = 1_500;
/** The gate's answers are far shorter; of an app's no more is read than needed to tell it from those. */
const bodyMaxBytes = 2_048;

/** With these the gate answers a request without a key when it cannot refuse it. */
const otherDenials = ['gate_unavailable', 'misconfigured'] as const;

/** Of an answer with another status the body need not be read. */
const statuses = new Set<number>([gateDenialStatus.invalid_key, ...otherDenials.map((code) => gateDenialStatus[code])]);

/** What the ingress answers to requests without a key. */
export type GateAnswer = GateSeen & {
  /** Of several hosts the one that it is about, when it is not about all of them. */
  host?: string;
};

type GateSeen =
  /** The gate's own refusal, every time. */
  | { kind: 'refused' }
  /** Another of the gate's answers: the route asks it, and it cannot tell who may pass. */
  | { kind: 'denied'; code: (typeof otherDenials)[number] }
  /** Something that is not the gate's: the request passed it by. */
  | { kind: 'open'; status: number }
  /** Here its refusal, there something else: a replica of the ingress, or a host, is behind the others. */
  | { kind: 'mixed'; status: number }
  /** An empty 500: an ingress that cannot reach the gate answers so, and so may an app. */
  | { kind: 'unclear' }
  /** The ingress took the request and did not answer in time. */
  | { kind: 'silent' }
  /** Nobody can be asked there. */
  | { kind: 'unreachable'; reason: string };

/** Where the ingress is asked, and for whom. */
export interface GateQuestion {
  /** The ingress inside the cluster: scheme, host and perhaps a port. */
  address: string;
  /** The app's public hosts, at least one, with their port where clients send one. */
  hosts: readonly string[];
  signal: AbortSignal;
}

/** Asks the ingress whether the route of these hosts demands a key; takes 3 s at most and never rejects. */
export type ProbeGate = (question: GateQuestion) => Promise<GateAnswer>;

/**
 * Asks by requests such as a client without a key sends. An answer other than the gate's refusal or an open route counts
 * at once; these two count only when every one of {@link rounds} requests to every host gets it.
 */
export const probeGate: ProbeGate = async ({ address, hosts, signal }) => {
  const probe = (host: string) => ask(address, host, signal);
  const firsts = await Promise.all(hosts.map(probe));
  const early = verdict(hosts, firsts);
  if (early.kind !== 'refused' && early.kind !== 'open') return early;
  const again = hosts.flatMap((host) => Array.from({ length: rounds - 1 }, () => host));
  return verdict([...hosts, ...again], [...firsts, ...(await Promise.all(again.map(probe)))]);
};

/** What the answers say together: one that is neither refusal nor open route comes first, and these only if all agree. */
function verdict(asked: readonly string[], answers: readonly GateSeen[]): GateAnswer {
  const odd = answers.findIndex(({ kind }) => kind !== 'refused' && kind !== 'open');
  const open = answers.findIndex(({ kind }) => kind === 'open');
  const chosen = odd >= 0 ? odd : Math.max(open, 0);
  const [seen, host] = [answers[chosen] ?? ({ kind: 'unclear' } as const), asked[chosen]];
  if (answers.every(({ kind }) => kind === seen.kind)) return seen;
  const about: { host?: string } = host !== undefined && new Set(asked).size > 1 ? { host } : {};
  return seen.kind === 'open' ? { kind: 'mixed', status: seen.status, ...about } : { ...seen, ...about };
}

/** One request over a connection that is made for it. */
function ask(address: string, host: string, signal: AbortSignal): Promise<GateSeen> {
  const { protocol, hostname, port } = new URL(address);
  const options = {
    ...{ hostname, port, path: gateProbePath, method: 'GET', agent: false as const },
    headers: { Host: host, 'User-Agent': 'svc-gate-probe' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
  };
  const sent =
    protocol === 'https:'
      ? // The certificate proves nothing here: the connection ends inside the cluster, and nothing secret is sent.
        httpsRequest({ ...options, servername: host.replace(/:\d+$/, ''), rejectUnauthorized: false })
      : httpRequest(options);
  return new Promise((resolve) => {
    let connected = false;
    const fail = (error: NodeJS.ErrnoException) => {
      sent.destroy();
      resolve(connected ? { kind: 'silent' } : { kind: 'unreachable', reason: reasonOf(error) });
    };
    sent.once('socket', (socket) => socket.once('connect', () => (connected = true)));
    sent.on('error', fail);
    sent.once('response', (response) => {
      const { statusCode: status = 0 } = response;
      const answer = async () => judge(status, statuses.has(status) ? await read(response) : '');
      answer()
        .then(resolve, fail)
        .finally(() => sent.destroy());
    });
    sent.end();
  });
}

/** The body, or its beginning when it is longer than any of the gate's. */
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

/** What one answer says. Pure. */
export function judge(status: number, body: string): GateSeen {
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

/** The same words for the same fault, since they stand in a status. */
function reasonOf({ code, name }: NodeJS.ErrnoException): string {
  return name === 'TimeoutError' || code === 'ABORT_ERR' || code === undefined ? 'no connection in time' : code;
}
