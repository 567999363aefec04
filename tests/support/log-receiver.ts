import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { KeyPair } from '../../infra/local/apiserver/certificate.ts';

/** One request as it arrived, with its body unpacked. */
interface ReceivedLogs {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A log system on this machine. */
export interface LogReceiver {
  url: string;
  port: number;
  received: ReceivedLogs[];
  /** The lines of all requests in the format `json`. */
  lines(): { line: string; namespace: string; workload: string }[];
  /** The answers to the next requests; default 204. */
  answer: (response: ServerResponse, request: ReceivedLogs) => void;
}

/** @param options.host the address to listen at; default 127.0.0.1 @param options.tls answers with HTTPS */
export async function startLogReceiver(
  t: { teardown(end: () => unknown): void },
  { host = '127.0.0.1', tls }: { host?: string; tls?: KeyPair | undefined } = {},
): Promise<LogReceiver> {
  const listener: RequestListener = (request, response) => {
    void (async () => {
      const bytes = await buffer(request);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes).toString() : bytes.toString();
      const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
      receiver.received.push(one);
      receiver.answer(response, one);
    })();
  };
  const server = tls ? createTlsServer({ key: tls.key, cert: tls.certificate }, listener) : createServer(listener);
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: LogReceiver = {
    port,
    url: `${tls ? 'https' : 'http'}://${host}:${port}`,
    received: [],
    lines: () =>
      receiver.received.flatMap(({ body }) =>
        body
          .split('\n')
          .filter((text) => text !== '')
          .map((text) => JSON.parse(text) as { line: string; namespace: string; workload: string }),
      ),
    answer: (response) => response.writeHead(204).end(),
  };
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}
