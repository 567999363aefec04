import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request as the fake server received it. */
export interface Seen {
  method: string;
  path: string;
  body: unknown;
}

export type Answer = { status?: number; body?: unknown } | undefined;

/** An HTTP server that answers as `answer` says; undefined: 404. */
export async function fakeServer(
  t: { teardown(end: () => unknown): void },
  answer: (request: Seen) => Answer,
): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const read = async (request: IncomingMessage): Promise<Seen> => {
    const body = await text(request);
    const { method = '', url = '' } = request;
    return { method, path: url, body: body === '' ? undefined : (JSON.parse(body) as unknown) };
  };
  const reply = async (request: IncomingMessage, response: ServerResponse) => {
    const one = await read(request);
    seen.push(one);
    const { status = 200, body } = answer(one) ?? { status: 404, body: 'no such path' };
    response.statusCode = status;
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    reply(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** An alert as Alertmanager lists it. */
export function alertOf(
  labels: Record<string, string>,
  { state = 'active', annotations = {}, startsAt = '2026-11-01T12:00:00.123456Z' } = {},
) {
  return {
    fingerprint: Object.values(labels).join('-'),
    labels,
    annotations,
    startsAt,
    endsAt: startsAt,
    updatedAt: startsAt,
    status: { state, silencedBy: [], inhibitedBy: [] },
    receivers: [{ name: 'none' }],
    generatorURL: '',
  };
}
