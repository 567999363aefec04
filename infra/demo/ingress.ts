import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';

export interface IngressRequest {
  /** Default `GET`. */
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
  /** Ends the request without an answer. */
  signal?: AbortSignal;
}

/** A complete HTTP response. */
export interface IngressAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends a request for a public URL to the ingress's address, with the URL's host in the header `Host`. */
export function requestThroughIngress(
  ingress: string,
  url: string,
  { method = 'GET', headers, body, signal }: IngressRequest = {},
): Promise<IngressAnswer> {
  const target = new URL(url);
  const address = new URL(ingress);
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: address.hostname,
      port: address.port,
      path: target.pathname + target.search,
      method,
      headers: { host: target.host, ...headers },
      agent: false,
      signal,
    });
    request.once('error', reject);
    request.once('response', (response) => {
      text(response).then(
        (read) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read }),
        reject,
      );
    });
    request.end(body);
  });
}
