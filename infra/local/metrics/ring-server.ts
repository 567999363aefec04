import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { readBytes } from '../../../runtime/domain/read-bytes.ts';
import { close, listen } from '../../../runtime/process/listening.ts';
import type { MetricsStore } from '../../../runtime/metrics/metrics-store.ts';
import { alertsPath, answerAlerts } from '../alerts/api.ts';
import type { LocalAlerts } from '../alerts/alerts.ts';
import type { Silences } from '../alerts/silences.ts';
import {
  historyQuestion,
  namespaceQuestion,
  ringPaths,
  workloadQuestion,
} from '../../../runtime/metrics/ring-protocol.ts';

/** Bytes of a question, and of a silence with its comment and labels. */
const bodyMax = 16_384;
/** Connections at once: console-api asks for a few members at a time. */
const connectionsMax = 64;
/** How long a connection may take for a head and for a request, and how often this is checked; node:http's own is 30 s. */
const limits = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };

/** What the server answers from. */
export interface Answers {
  store: MetricsStore;
  alerts: LocalAlerts;
  silences: Silences;
}

/** The service accounts that may ask: console-api everything, svc-workers for the alerts. */
export const askers = ['console-api', 'svc-workers'] as const;

/** A server on the loopback address. */
export interface RingServer {
  /** @param port 0 selects a free port @returns the port */
  start(port: number): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Answers questions about metrics and alerts. Every program on this machine can connect, also a tenant's pod, so each
 * request must carry a token that `verify` accepts.
 */
export function createRingServer(options: {
  /** Undefined while the store is disabled. */
  answers: () => Answers | undefined;
  /** Returns which of the {@link askers} a token belongs to. */
  verify: (token: string) => Promise<string | undefined>;
  log: Logger;
}): RingServer {
  const { verify, log } = options;

  /** Connections that have sent no accepted token, the oldest first. */
  const strangers = new Set<Socket>();
  let connections = 0;

  const answer = async (request: IncomingMessage): Promise<{ status: number; body?: unknown }> => {
    const [, token] = /^Bearer (\S{1,8192})$/.exec(request.headers.authorization ?? '') ?? [];
    const asker = token === undefined ? undefined : await verify(token);
    if (asker === undefined) return { status: 401 };
    strangers.delete(request.socket);
    const { method = '', url: path = '' } = request;
    const isConsole = asker === 'console-api';
    const answers = options.answers();
    if (path.startsWith(alertsPath)) {
      if (!answers) return { status: 503 };
      return answerAlerts(answers, { method, path, body: await readBody(request), maySilence: isConsole });
    }
    if (!isConsole) return { status: 403 };
    if (method !== 'POST') return { status: 405 };
    if (!answers) return { status: 503 };
    const { store } = answers;
    if (request.url === ringPaths.workload) {
      const question = parse(await readBody(request), workloadQuestion);
      return question ? { status: 200, body: await store.workload(question, question.window) } : { status: 400 };
    }
    if (request.url === ringPaths.namespace) {
      const question = parse(await readBody(request), namespaceQuestion);
      return question ? { status: 200, body: await store.namespace(question.namespace, question.at) } : { status: 400 };
    }
    if (request.url === ringPaths.history) {
      const question = parse(await readBody(request), historyQuestion);
      return question
        ? { status: 200, body: await store.history(question.namespace, question.window) }
        : { status: 400 };
    }
    return { status: 404 };
  };

  const server = createServer(limits, (request, response) => {
    answer(request).then(
      ({ status, body }) => send(request, response, status, body),
      (error: unknown) => {
        log.warn({ err: error }, 'no metrics for a question');
        send(request, response, 400);
      },
    );
  });
  // The oldest stranger makes room: connections that send nothing do not keep out console-api.
  server.on('connection', (socket) => {
    connections++;
    strangers.add(socket);
    socket.once('close', () => {
      connections--;
      strangers.delete(socket);
    });
    if (connections <= connectionsMax) return;
    const [oldest = socket] = strangers;
    strangers.delete(oldest);
    oldest.destroy();
  });

  return {
    start: (port) => listen(server, port, '127.0.0.1'),
    async stop() {
      if (server.listening) await close(server);
    },
  };
}

function send(request: IncomingMessage, response: ServerResponse, status: number, body?: unknown): void {
  // What is left of a body is not read.
  const headers = { 'Content-Type': 'application/json', ...(!request.complete && { Connection: 'close' }) };
  response.writeHead(status, headers).end(JSON.stringify(body ?? {}));
}

async function readBody(request: IncomingMessage): Promise<string> {
  return (await readBytes(request, bodyMax, () => new Error('the question is too long'))).toString('utf8');
}

function parse<T>(text: string, schema: z.ZodType<T>): T | undefined {
  const parsed = schema.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : undefined;
}
