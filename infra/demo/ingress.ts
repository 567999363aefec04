import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';

export interface IngressRequest {
  /** Default `GET`. */
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
}

/** An HTTP answer, read to its end. */
export interface IngressAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A request to a public URL through the ingress: the URL's host is sent, the ingress's address is called. */
export function requestThroughIngress(
  ingress: string,
  url: string,
  { method = 'GET', headers, body }: IngressRequest = {},
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
