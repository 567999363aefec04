import { Readable } from 'node:stream';
import type { Handler, Layer } from './exchange.ts';
import { copyHeaders } from './headers.ts';
import type { ErrorsSpec } from './objects.ts';

/**
 * The Middleware `errors`: answers of these statuses are replaced by a page of another Service, under the same status.
 * In `query`, `{status}`, `{originalStatus}` and `{url}` say what is wanted.
 * @param pages answers in the name of that Service
 */
export function errorPagesLayer({ status, query }: ErrorsSpec, pages: Handler): Layer {
  return (next) => async (request) => {
    const { host, uri, signal } = request;
    const headers = copyHeaders(request.headers);
    const answer = await next(request);
    if (!status.some(({ from, to }) => answer.status >= from && answer.status <= to)) return answer;
    if (answer.body instanceof Readable) answer.body.destroy();
    const page = `/${query.replace(/^\//, '')}`
      .replaceAll(/\{(status|originalStatus)\}/g, String(answer.status))
      .replaceAll('{url}', () => encodeURIComponent(`http://${host}${uri}`));
    const { remoteAddress } = request;
    const asked = {
      method: 'GET',
      host,
      uri: page,
      headers,
      remoteAddress,
      body: undefined,
      upgrade: undefined,
      signal,
    };
    return { ...(await pages(asked)), status: answer.status };
  };
}
