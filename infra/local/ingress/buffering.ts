import { Readable } from 'node:stream';
import type { Answer, Layer } from './exchange.ts';
import type { BufferingSpec } from './objects.ts';

/**
 * The Middleware `buffering`: refuses a body of more than this many bytes, from its head if that tells its length, and
 * sends a request once its body has arrived. So neither large nor unfinished bodies cost the pod anything.
 */
export function bufferingLayer({ maxRequestBodyBytes: max }: BufferingSpec): Layer {
  return (next) => async (request) => {
    const { body } = request;
    if (!body) return next(request);
    if (body.length !== undefined && body.length > max) return tooLarge();
    const content = await readUpTo(body.open(), max);
    if (!content) return tooLarge();
    return next({ ...request, body: { length: content.length, open: () => Readable.from([content]) } });
  };
}

/** Traefik's answer. */
function tooLarge(): Answer {
  return { status: 413, headers: new Map(), body: 'Request Entity Too Large' };
}

/** Reads a stream to its end; undefined for one that has more bytes, whose rest stays unread. */
async function readUpTo(stream: Readable, max: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > max) resolve(undefined);
  };
  const onEnd = () => resolve(Buffer.concat(chunks));
  const onClose = () => reject(new Error('the connection ended before the body'));
  stream.on('data', onData).once('end', onEnd).once('error', reject).once('close', onClose);
  try {
    return await promise;
  } finally {
    stream.off('data', onData).off('end', onEnd).off('error', reject).off('close', onClose).pause();
  }
}
