import { readFileSync } from 'node:fs';
import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { apiServerUrl } from './components.ts';

const timeoutMilliseconds = 3000;

/** A response; status 0 when there was none. */
export interface QueryResult {
  readonly status: number;
  readonly body: string;
}

/** Sends a GET request to the API server, as the administrator. Never rejects: without a response the status is 0. */
export function queryApiServer(pki: string, path: string): Promise<QueryResult> {
  try {
    const read = (name: string): Buffer => readFileSync(join(pki, name));
    const credentials = { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
    return query(requestTls, `${apiServerUrl}${path}`, credentials);
  } catch {
    return Promise.resolve({ status: 0, body: '' });
  }
}

/** Sends a GET request to an HTTP server on this machine. Never rejects: without a response the status is 0. */
export function queryServer(url: string): Promise<QueryResult> {
  return query(requestPlain, url, {});
}

function query(request: typeof requestTls | typeof requestPlain, url: string, options: object): Promise<QueryResult> {
  return new Promise((resolve) => {
    const none = { status: 0, body: '' };
    const outgoing = request(url, { ...options, agent: false, timeout: timeoutMilliseconds }, (incoming) => {
      let body = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (text: string) => (body += text));
      incoming.on('error', () => resolve(none));
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body }));
    });
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => resolve(none));
    outgoing.on('close', () => resolve(none));
    outgoing.end();
  });
}
