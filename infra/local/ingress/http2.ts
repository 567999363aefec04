import {
  createServer,
  constants,
  type Http2Server,
  type IncomingHttpHeaders as Http2Headers,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { pipeline, Readable } from 'node:stream';
import { headBytes, type Entrance } from './entrance.ts';
import { emptyAnswer, type Answer, type Handler, type RequestBody } from './exchange.ts';
import { removeHopByHop } from './headers.ts';

/** RFC 9113 §3.4: with this a client begins that speaks HTTP/2 without having asked. */
export const preface = Buffer.from('PRI * HTTP/2.0');

/**
 * A server of HTTP/2 without TLS, as Traefik's entry points have one; connections are handed to it, and
 * trailers are not passed on.
 * @param handler rejects only when the client has gone
 */
export function createHttp2Server(entrance: Entrance, handler: Handler): Http2Server {
  const server = createServer({ maxHeaderListPairs: 20_000, settings: { maxHeaderListSize: headBytes } });
  const serve = async (stream: ServerHttp2Stream, pseudo: Http2Headers, flags: number, raw: readonly string[]) => {
    const gone = new AbortController();
    stream.once('close', () => gone.abort()).on('error', () => gone.abort());
    const entered = entrance({
      method: pseudo[':method'],
      uri: pseudo[':path'],
      authority: pseudo[':authority'],
      rawHeaders: fields(raw),
      remoteAddress: stream.session?.socket.remoteAddress,
      body: bodyOf(stream, pseudo, flags),
      upgrade: undefined,
      signal: gone.signal,
    });
    const answer = entered ? await handler(entered).catch(() => undefined) : emptyAnswer(400);
    if (answer && !stream.destroyed) write(answer, stream);
  };
  server.on('stream', (stream, headers, flags, raw: unknown) => {
    // Such as a header of the app's that HTTP/2 does not allow.
    serve(stream, headers, flags, raw as string[]).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  });
  return server;
}

/** Without pseudo-headers, and with cookies in one field again (RFC 9113 §8.2.3). */
function fields(raw: readonly string[]): string[] {
  const cookies: string[] = [];
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = '', value = ''] = raw.slice(index, index + 2);
    if (name === 'cookie') cookies.push(value);
    else if (!name.startsWith(':')) kept.push(name, value);
  }
  return cookies.length > 0 ? [...kept, 'cookie', cookies.join('; ')] : kept;
}

function bodyOf(stream: ServerHttp2Stream, headers: Http2Headers, flags: number): RequestBody | undefined {
  if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) return undefined;
  const length = headers['content-length'];
  return { length: length === undefined ? undefined : Number(length), open: () => stream };
}

function write({ status, headers, body }: Answer, stream: ServerHttp2Stream): void {
  removeHopByHop(headers);
  const head: OutgoingHttpHeaders = { ':status': status };
  for (const [name, values] of headers) head[name.toLowerCase()] = values.length === 1 ? values[0] : values;
  stream.respond(head);
  if (body instanceof Readable) pipeline(body, stream, () => undefined);
  else stream.end(body);
}
